// Trace formats, recognised by content; rows that are refused by number.
#include "sim/trace/trace.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <string>

#include "reference/spec/input_error.hpp"

namespace orthros {
namespace {

// Case 33.
TEST(sim_trace, azure_has_wall_clocks_of_7_digits_crlf_and_no_final_newline) {
  const Trace trace = parse_trace(
      "TIMESTAMP,ContextTokens,GeneratedTokens\r\n"
      "2023-11-16 18:17:03.9799600,4808,10\r\n"
      "2023-11-16 18:17:04.0319600,3180,8\r\n"
      "2023-11-17 00:00:00.0000001,110,27",
      "t");
  EXPECT_EQ(trace.format, "Azure CSV");
  ASSERT_EQ(trace.requests.size(), 3u);
  EXPECT_EQ(trace.requests[0].arrival_s, 0.0);
  EXPECT_DOUBLE_EQ(trace.requests[1].arrival_s, 0.052);
  EXPECT_DOUBLE_EQ(trace.requests[2].arrival_s, 20576.0200401);
  EXPECT_EQ(trace.requests[0].input, 4808);
  EXPECT_EQ(trace.requests[2].output, 27);
}

TEST(sim_trace, mooncake_has_milliseconds_and_hash_ids) {
  const Trace trace = parse_trace(
      "{\"timestamp\": 1000, \"input_length\": 1100, \"output_length\": 5, \"hash_ids\": [7, 8, "
      "9]}\n"
      "\n"
      "{\"output_length\": 6, \"hash_ids\": [], \"timestamp\": 1000.5, \"input_length\": 3}\n"
      "{\"timestamp\": 3000, \"input_length\": 600, \"output_length\": 1, \"hash_ids\": [7, 10]}",
      "t");
  EXPECT_EQ(trace.format, "Mooncake JSONL");
  ASSERT_EQ(trace.requests.size(), 3u);
  EXPECT_EQ(trace.requests[0].arrival_s, 0.0);
  EXPECT_DOUBLE_EQ(trace.requests[1].arrival_s, 0.0005);
  EXPECT_DOUBLE_EQ(trace.requests[2].arrival_s, 2.0);
  EXPECT_EQ(trace.requests[1].hashes, 0);
  EXPECT_EQ(trace.requests[2].first_hash, 3);
  EXPECT_EQ(trace.requests[2].hashes, 2);
  EXPECT_EQ(trace.hash_ids, (std::vector<int64_t>{7, 8, 9, 7, 10}));
}

TEST(sim_trace, mooncake_lengths_have_milliseconds) {
  for (const char* name : {"timestamp_ms", "timestamp"}) {
    const Trace trace = parse_trace(
        std::string(name) + ",input_length,output_length,n_hash_blocks\n0,6758,500,14\n250,1,2,3\n",
        "t");
    ASSERT_EQ(trace.requests.size(), 2u);
    EXPECT_DOUBLE_EQ(trace.requests[1].arrival_s, 0.25);
  }
}

TEST(sim_trace, burstgpt_has_seconds) {
  const Trace trace = parse_trace(
      "Timestamp,Model,Request tokens,Response tokens,Total tokens,Log Type\n"
      "5,ChatGPT,472,18,490,Conversation log\n"
      "45.5,\"GPT-4, old\",1087,0,1087,API log\n",
      "t");
  EXPECT_EQ(trace.format, "BurstGPT CSV");
  ASSERT_EQ(trace.requests.size(), 2u);
  EXPECT_DOUBLE_EQ(trace.requests[1].arrival_s, 40.5);
  EXPECT_EQ(trace.requests[1].output, 0);  // such rows are failures there: a prefill alone
}

TEST(sim_trace, columns_may_stand_in_any_order_among_others) {
  const Trace trace =
      parse_trace("\xEF\xBB\xBFoutput, user ,arrival_s,input\n3,x,1,2.0\n4,y,1.5,\"7\"\n", "t");
  EXPECT_EQ(trace.format, "plain CSV");
  ASSERT_EQ(trace.requests.size(), 2u);
  EXPECT_EQ(trace.requests[1].input, 7);
  EXPECT_EQ(trace.requests[1].output, 4);
  EXPECT_DOUBLE_EQ(trace.requests[1].arrival_s, 0.5);
}

std::string error_of(const std::string& text) {
  try {
    parse_trace(text, "trace.csv");
  } catch (const InputError& error) {
    return error.what();
  }
  return "no error";
}

TEST(sim_trace, a_bad_row_is_named) {
  const std::string good = "arrival_s,input,output\n0,10,5\n";
  const char* rows[] = {
      "nan,10,5", ",10,5",    "-1,10,5",        "inf,10,5",       "1e300,10,5",
      "x,10,5",   "1,0,5",    "1,-3,5",         "1,10,-5",        "1,1.5,5",
      "1,,5",     "1,10,",    "1,2147483649,1", "1,1,2147483648", "1,99999999999999999999,5",
      "1,10",     "1,10,5,6", "1,\"10,5",       "1,nan,5",        "1 2,10,5",
      "0x1,10,5"};
  for (const char* row : rows) {
    const std::string error = error_of(good + row + "\n3,10,5\n");
    EXPECT_EQ(error.rfind("trace.csv: row 3", 0), 0u) << row << ": " << error;
    EXPECT_EQ(error.find('\n'), std::string::npos);
  }
  // Rows are counted as an editor does, empty lines included.
  EXPECT_EQ(error_of(good + "\n\r\n5,10,5\n4,10,5\n").rfind("trace.csv: row 6: arrival_s", 0), 0u);
}

TEST(sim_trace, a_bad_line_of_json_is_named) {
  const std::string good = "{\"timestamp\": 5, \"input_length\": 10, \"output_length\": 5}\n";
  const char* lines[] = {
      "{\"timestamp\": 4, \"input_length\": 10, \"output_length\": 5}",
      "{\"timestamp\": -4, \"input_length\": 10, \"output_length\": 5}",
      "{\"timestamp\": NaN, \"input_length\": 10, \"output_length\": 5}",
      "{\"timestamp\": null, \"input_length\": 10, \"output_length\": 5}",
      "{\"timestamp\": \"6\", \"input_length\": 10, \"output_length\": 5}",
      "{\"input_length\": 10, \"output_length\": 5}",
      "{\"timestamp\": 1e400, \"input_length\": 10, \"output_length\": 5}",
      "{\"timestamp\": 6, \"input_length\": 0, \"output_length\": 5}",
      "{\"timestamp\": 6, \"input_length\": 10.5, \"output_length\": 5}",
      "{\"timestamp\": 6, \"input_length\": 10, \"output_length\": -5}",
      "{\"timestamp\": 6, \"input_length\": 10, \"output_length\": 99999999999999999999}",
      "{\"timestamp\": 6, \"input_length\": 10, \"output_length\": 5, \"hash_ids\": 3}",
      "{\"timestamp\": 6, \"input_length\": 10, \"output_length\": 5, \"hash_ids\": [1, \"2\"]}",
      "{\"timestamp\": 6, \"input_length\": 10, \"output_length\": 5",
      "[1, 2]",
      "6,10,5",
  };
  for (const char* line : lines) {
    const std::string error = error_of(good + line + "\n" + good);
    EXPECT_EQ(error.rfind("trace.csv: row 2", 0), 0u) << line << ": " << error;
  }
}

TEST(sim_trace, what_is_no_trace_is_refused) {
  for (const char* text :
       {"", "\n\n", "hello", "a,b,c\n1,2,3\n", "arrival_s,input,output\n",
        "arrival_s,input,input,output\n1,2,2,3\n", "{}", "\xff\xfe\n", "arrival_s,input\n1,2\n"}) {
    EXPECT_EQ(error_of(text).rfind("trace.csv: ", 0), 0u) << text;
  }
  // A file of lengths says where it belongs.
  EXPECT_NE(error_of("num_prefill_tokens,num_decode_tokens\n1,2\n").find("--lengths"),
            std::string::npos);
}

// Case 34.
TEST(sim_trace, a_misspelt_path_is_an_error) {
  EXPECT_THROW(read_trace("no/such/trace.csv"), InputError);
  EXPECT_THROW(read_trace("/"), InputError);
  EXPECT_THROW(read_lengths("no/such/lengths.csv"), InputError);
}

TEST(sim_trace, lengths_are_read_with_or_without_arrivals) {
  for (const char* header : {"num_prefill_tokens,num_decode_tokens", "input_tokens,output_tokens",
                             "ContextTokens,GeneratedTokens", "input,output"}) {
    const auto lengths = parse_lengths(std::string(header) + "\n3772,54\n2015,156\n", "t");
    ASSERT_EQ(lengths.size(), 2u);
    EXPECT_EQ(lengths[1].input, 2015);
    EXPECT_EQ(lengths[1].output, 156);
  }
  EXPECT_THROW(parse_lengths("input,output\n1,2\n0,2\n", "t"), InputError);
}

std::string data(const char* name) {
  const char* folder = std::getenv("ORTHROS_DATA");
  return std::string(folder != nullptr ? folder : ORTHROS_TEST_DATA "/../../shared/data") +
         "/traces/" + name;
}

// Counts and means as published with the files.
TEST(sim_trace, published_traces_are_read_whole) {
  if (!std::filesystem::exists(data("azure2023_code.csv"))) {
    GTEST_SKIP() << "no public traces at " << data("") << "; set ORTHROS_DATA to their folder";
  }
  const auto means = [](const Trace& trace) {
    double input = 0.0, output = 0.0;
    for (const Request& request : trace.requests) {
      input += static_cast<double>(request.input);
      output += static_cast<double>(request.output);
    }
    const auto n = static_cast<double>(trace.requests.size());
    return std::pair(std::round(input / n), std::round(output / n));
  };
  const Trace azure = read_trace(data("azure2023_code.csv"));
  EXPECT_EQ(azure.requests.size(), 8819u);
  EXPECT_EQ(means(azure), std::pair(2048.0, 28.0));
  double widest = 0.0;
  for (size_t i = 1; i < azure.requests.size(); ++i) {
    widest = std::max(widest, azure.requests[i].arrival_s - azure.requests[i - 1].arrival_s);
  }
  EXPECT_EQ(std::round(widest), 217.0);
  const Trace lengths = read_trace(data("mooncake_conversation_lengths.csv"));
  EXPECT_EQ(lengths.requests.size(), 12031u);
  EXPECT_EQ(means(lengths), std::pair(12035.0, 343.0));
  // The first 7,772 requests of the same trace.
  const Trace hashed = read_trace(data("mooncake_conversation_first.jsonl"));
  ASSERT_EQ(hashed.requests.size(), 7772u);
  for (size_t i = 0; i < hashed.requests.size(); ++i) {
    EXPECT_EQ(hashed.requests[i].arrival_s, lengths.requests[i].arrival_s);
    EXPECT_EQ(hashed.requests[i].input, lengths.requests[i].input);
    EXPECT_EQ(hashed.requests[i].hashes, (hashed.requests[i].input + 511) / 512);
  }
  EXPECT_EQ(read_trace(data("burstgpt_documented_rows.csv")).requests.size(), 3u);
  EXPECT_EQ(read_lengths(data("vidur_arxiv_summarization.csv")).size(), 28257u);
  EXPECT_EQ(read_lengths(data("servegen_deepseek_r1_sampled5000.csv")).size(), 5000u);
}

}  // namespace
}  // namespace orthros
