// Sizes as people write them on a command line.
#include "reference/spec/size_text.hpp"

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <limits>

#include "tests/reference/spec/refusal.hpp"

namespace orthros {
namespace {

constexpr int64_t most = std::numeric_limits<int64_t>::max();

TEST(size_text, small_k_is_a_thousand_and_capital_k_is_1024) {
  EXPECT_EQ(parse_size("--input", "1k"), 1000);
  EXPECT_EQ(parse_size("--input", "1K"), 1024);
  EXPECT_EQ(parse_size("--input", "25.6k"), 25600);
  EXPECT_EQ(parse_size("--input", "128K"), 131072);
  EXPECT_EQ(parse_size("--input", "30k"), 30000);
  EXPECT_EQ(parse_size("--input", "300"), 300);
  EXPECT_EQ(parse_size("--input", "0"), 0);
}

TEST(size_text, every_suffix_has_its_factor) {
  EXPECT_EQ(parse_size("x", "3m"), 3'000'000);
  EXPECT_EQ(parse_size("x", "3g"), 3'000'000'000);
  EXPECT_EQ(parse_size("x", "3t"), 3'000'000'000'000);
  EXPECT_EQ(parse_size("x", "3M"), 3'145'728);
  EXPECT_EQ(parse_size("x", "3G"), 3'221'225'472);
  EXPECT_EQ(parse_size("x", "3T"), 3'298'534'883'328);
  EXPECT_EQ(parse_size("x", "3Ki"), 3'072);
  EXPECT_EQ(parse_size("x", "3Mi"), 3'145'728);
  EXPECT_EQ(parse_size("x", "3Gi"), 3'221'225'472);
  EXPECT_EQ(parse_size("x", "3Ti"), 3'298'534'883'328);
}

TEST(size_text, decimals_are_exact) {
  EXPECT_EQ(parse_size("x", "1.5K"), 1536);
  EXPECT_EQ(parse_size("x", "0.5k"), 500);
  EXPECT_EQ(parse_size("x", "4.0"), 4);
  EXPECT_EQ(parse_size("x", "0.1k"), 100);  // 0.1 is no binary fraction
  EXPECT_EQ(parse_size("x", "2.3m"), 2'300'000);
  EXPECT_EQ(parse_size("x", "0.0009765625K"), 1);
  EXPECT_EQ(parse_size("x", "9007199254.740993m"), 9007199254740993);  // 2^53 + 1
}

TEST(size_text, a_fraction_of_a_unit_is_refused) {
  for (const char* text : {"0.5", "1.0001k", "0.3K", "1.1K", "0.0001k"}) {
    EXPECT_NE(refusal_of([&] { return parse_size("--input", text); }).find("whole"),
              std::string::npos)
        << text;
  }
}

TEST(size_text, what_is_no_size_is_refused_with_the_option_and_the_text) {
  using namespace std::string_literals;
  const std::string bad[] = {"",
                             " ",
                             "K",
                             "k",
                             "1e3",
                             "0x10",
                             "1KK",
                             "1kk",
                             "1..2",
                             "1.2.3",
                             ".5k",
                             "5.",
                             "5.K",
                             ".",
                             "-1",
                             "-0",
                             "+1",
                             "1 K",
                             " 1",
                             "1 ",
                             "1K ",
                             "1_000",
                             "1,5K",
                             "1'000",
                             "1000.k",
                             "nan",
                             "inf",
                             "1Kib",
                             "1KiB",
                             "1KB",
                             "1b",
                             "1ki",
                             "1mi",
                             "1gi",
                             "1ti",
                             "1i",
                             "1P",
                             "1E",
                             "one",
                             "١",
                             "１２８",
                             "1К",
                             "1\n",
                             "1\t",
                             "1K\0"s,
                             "1\0K"s,
                             "\xff"
                             "1",
                             "1%",
                             "1e400",
                             "12a",
                             "1.5.K",
                             "--1",
                             "1-",
                             "1K1",
                             "1.K5",
                             "²",
                             "1/2",
                             "Ki",
                             "1Kii",
                             "1iK"};
  for (const std::string& text : bad) {
    const std::string line = refusal_of([&] { return parse_size("--input", text); });
    EXPECT_EQ(line.rfind("--input: expected ", 0), 0u) << '\'' << text << "': " << line;
  }
  EXPECT_NE(refusal_of([] { return parse_size("--input", "-5"); }).find("'-5'"), std::string::npos);
}

TEST(size_text, what_passes_64_bits_is_refused_and_the_last_that_fits_is_not) {
  EXPECT_EQ(parse_size("x", "9223372036854775807"), most);
  EXPECT_EQ(parse_size("x", "8388607T"), most - (int64_t{1} << 40) + 1);
  EXPECT_EQ(parse_size("x", "9007199254740991K"), most - 1023);
  for (const char* text :
       {"9223372036854775808", "9007199254740992K", "8388608T", "9223372036854775.808k",
        "18446744073709551616", "18446744073709551617", "99999999999999999999999T",
        "999999999999999999999999T", "340282366920938463463374607431768211457",
        "1000000000000000000000000000000000000000000000000000"}) {
    EXPECT_NE(refusal_of([&] { return parse_size("x", text); }).find("64 bits"), std::string::npos)
        << text;
  }
  // A long text is refused in a readable line, too.
  refusal_of([] { return parse_size("x", std::string(100'000, '9')); });
  refusal_of([] { return parse_size("x", "0." + std::string(100'000, '0')); });
  refusal_of([] { return parse_size("x", std::string(100'000, 'K')); });
}

TEST(size_text, a_list_has_no_empty_element) {
  EXPECT_EQ(parse_size_list("x", "1K,2k,3"), (std::vector<int64_t>{1024, 2000, 3}));
  EXPECT_EQ(parse_size_list("x", "7"), std::vector<int64_t>{7});
  for (const char* text : {"", ",", "1,", ",1", "1,,2", "1, 2", "1;2", "1,-2"}) {
    EXPECT_EQ(refusal_of([&] { return parse_size_list("--batch", text); }).rfind("--batch: ", 0),
              0u)
        << text;
  }
}

TEST(size_text, counts_print_in_the_largest_binary_unit_that_is_exact) {
  EXPECT_EQ(size_text(131072), "128K");
  EXPECT_EQ(size_text(1000), "1000");
  EXPECT_EQ(size_text(25600), "25K");
  EXPECT_EQ(size_text(1 << 20), "1M");
  EXPECT_EQ(size_text((1 << 20) + 1024), "1025K");
  EXPECT_EQ(size_text(int64_t{1} << 30), "1G");
  EXPECT_EQ(size_text(int64_t{1} << 40), "1T");
  EXPECT_EQ(size_text(0), "0");
}

// Counts of every magnitude, round ones as often as odd ones.
rc::Gen<int64_t> any_count() {
  return rc::gen::map(
      rc::gen::tuple(rc::gen::inRange<int64_t>(0, 63), rc::gen::arbitrary<uint64_t>(),
                     rc::gen::inRange<int64_t>(0, 5)),
      [](const std::tuple<int64_t, uint64_t, int64_t>& drawn) {
        const auto [bits, random, unit] = drawn;
        const uint64_t kept = random >> (63 - bits) >> 1;
        const auto shift = static_cast<unsigned>(10 * unit);
        return static_cast<int64_t>((kept >> shift) << shift);
      });
}

RC_GTEST_PROP(size_text, parsing_a_printed_count_gives_it_back, ()) {
  const int64_t count = *any_count();
  RC_ASSERT(parse_size("x", size_text(count)) == count);
}

RC_GTEST_PROP(size_text, decimal_thousands_equal_the_digits_without_the_point, ()) {
  const int64_t thousandths = *rc::gen::inRange<int64_t>(0, int64_t{1} << 50);
  std::string digits = std::to_string(thousandths % 1000);
  digits.insert(0, 3 - digits.size(), '0');
  const std::string text = std::to_string(thousandths / 1000) + "." + digits + "k";
  RC_ASSERT(parse_size("x", text) == thousandths);
}

// Any bytes at all give a count or an InputError.
RC_GTEST_PROP(size_text, any_text_parses_or_is_refused, ()) {
  const auto text = *rc::gen::container<std::string>(rc::gen::oneOf(
      rc::gen::elementOf(std::string("0123456789.kKmMgGtTiB-+e, ")), rc::gen::arbitrary<char>()));
  try {
    RC_ASSERT(parse_size("x", text) >= 0);
  } catch (const InputError&) {
  }
}

}  // namespace
}  // namespace orthros
