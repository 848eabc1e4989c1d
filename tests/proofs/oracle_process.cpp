// Starts the oracle with pipes on both sides.
#include "tests/proofs/oracle_process.hpp"

#include <sys/wait.h>
#include <unistd.h>

#include <stdexcept>

namespace orthros {

OracleProcess::OracleProcess() {
  int request[2];
  int answer[2];
  if (pipe(request) != 0 || pipe(answer) != 0) throw std::runtime_error("no pipe");
  pid_ = fork();
  if (pid_ < 0) throw std::runtime_error("no child process");
  if (pid_ == 0) {
    dup2(request[0], STDIN_FILENO);
    dup2(answer[1], STDOUT_FILENO);
    for (int end : {request[0], request[1], answer[0], answer[1]}) close(end);
    execl(ORTHROS_ORACLE, ORTHROS_ORACLE, static_cast<char*>(nullptr));
    _exit(127);
  }
  close(request[0]);
  close(answer[1]);
  to_ = fdopen(request[1], "w");
  from_ = fdopen(answer[0], "r");
}

OracleProcess::~OracleProcess() {
  std::fclose(to_);
  std::fclose(from_);
  waitpid(pid_, nullptr, 0);
}

std::vector<std::string> OracleProcess::ask(const std::string& request) {
  std::fputs((request + "\n").c_str(), to_);
  std::fflush(to_);
  std::vector<std::string> lines;
  std::string line;
  for (int c = std::fgetc(from_); c != EOF; c = std::fgetc(from_)) {
    if (c != '\n') {
      line.push_back(static_cast<char>(c));
      continue;
    }
    if (line == "end") return lines;
    lines.push_back(std::move(line));
    line.clear();
  }
  throw std::runtime_error("the oracle closed before its answer ended");
}

}  // namespace orthros
