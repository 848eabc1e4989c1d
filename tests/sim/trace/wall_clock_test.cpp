// Wall-clock timestamps.
#include "sim/trace/wall_clock.hpp"

#include <gtest/gtest.h>

namespace orthros {
namespace {

TEST(sim_wall_clock, dates_count_from_1970_in_utc) {
  EXPECT_EQ(parse_wall_clock("1970-01-01 00:00:00"), 0);
  EXPECT_EQ(parse_wall_clock("2000-03-01 00:00:00.0000001"), 951'868'800'000'000'100);
  EXPECT_EQ(parse_wall_clock("2023-11-16 18:17:03.9799600"), 1'700'158'623'979'960'000);
  EXPECT_EQ(parse_wall_clock("2024-05-10 00:00:00.009930+00:00"), 1'715'299'200'009'930'000);
  EXPECT_EQ(parse_wall_clock("1970-01-01T01:00:00.5Z"), 3'600'500'000'000);
  EXPECT_EQ(parse_wall_clock("1970-01-01 01:00:00+01:00"), 0);
  EXPECT_EQ(parse_wall_clock("1970-01-01 01:00:00-00:30"), 5'400'000'000'000);
}

TEST(sim_wall_clock, a_leap_day_exists_in_leap_years_only) {
  EXPECT_TRUE(parse_wall_clock("2024-02-29 00:00:00"));
  EXPECT_FALSE(parse_wall_clock("2023-02-29 00:00:00"));
  EXPECT_FALSE(parse_wall_clock("2100-02-29 00:00:00"));
}

TEST(sim_wall_clock, any_other_text_is_refused) {
  for (const char* text :
       {"", "nan", "5", "2023-11-16", "2023-11-16 18:17", "2023-11-16 18:17:03.",
        "2023-11-16 18:17:60", "2023-11-16 24:00:00", "2023-13-01 00:00:00", "2023-00-01 00:00:00",
        "2023-11-31 00:00:00", "2023-11-16 18:17:03.1234567890", "2023-11-16 18:17:03 ",
        "2023-11-16 18:17:03+1", "2023-11-16 18:17:03+99:00", "1969-12-31 23:59:59",
        "9999-01-01 00:00:00", "-023-11-16 18:17:03", "2023-11-16  8:17:03"}) {
    EXPECT_FALSE(parse_wall_clock(text)) << text;
  }
}

}  // namespace
}  // namespace orthros
