# cmake -DMODULES=FOLDER -DSCRATCH=FOLDER -P cuda_driver_test.cmake: where a driver is found, and where not.
include(${MODULES}/HemeraCudaDriver.cmake)

function(expect name expected)
  hemera_find_cuda_driver(found ${SCRATCH})
  if(NOT "${found}" STREQUAL "${expected}")
    message(FATAL_ERROR "${name}: found '${found}' instead of '${expected}'")
  endif()
endfunction()

foreach(driver "" /proc/driver/nvidia/version /usr/lib/x86_64-linux-gnu/libcuda.so.1 /usr/lib/wsl/lib/libcuda.so.1
               /opt/own/libcuda.so.1)
  file(REMOVE_RECURSE ${SCRATCH})
  file(MAKE_DIRECTORY ${SCRATCH}/opt/stubs ${SCRATCH}/opt/own ${SCRATCH}/proc/driver/nvidia ${SCRATCH}/usr/lib/wsl/lib
                      ${SCRATCH}/usr/lib/x86_64-linux-gnu)
  file(TOUCH ${SCRATCH}/opt/stubs/libcuda.so.1 ${SCRATCH}/usr/lib/x86_64-linux-gnu/libcuda.so)
  set(ENV{LD_LIBRARY_PATH} "/opt/stubs:/opt/own")
  if(driver)
    file(TOUCH ${SCRATCH}${driver})
    expect("${driver}" ${SCRATCH}${driver})
  else()
    expect("no driver" "")
  endif()
endforeach()
file(REMOVE_RECURSE ${SCRATCH})
