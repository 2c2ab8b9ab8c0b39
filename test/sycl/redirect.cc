// What the addon asks for when it loads the library: the process's standard output is for its results alone.
#include <iostream>

#include "usm_ipc_sycl.h"

int main() {
  std::cout << "before" << std::endl;
  usm_ipc_sycl_redirect_stdout();
  std::cout << "after" << std::endl;
  return 0;
}
