// The extracted oracle as a child process: a request line in, an answer's lines out.
#pragma once

#include <cstdio>
#include <string>
#include <vector>

namespace orthros {

class OracleProcess {
 public:
  OracleProcess();  // throws std::runtime_error if it cannot be started
  ~OracleProcess();
  OracleProcess(const OracleProcess&) = delete;
  OracleProcess& operator=(const OracleProcess&) = delete;

  // The answer's lines, without the closing "end".
  std::vector<std::string> ask(const std::string& request);

 private:
  FILE* to_ = nullptr;
  FILE* from_ = nullptr;
  int pid_ = 0;
};

}  // namespace orthros
