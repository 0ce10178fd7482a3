# Flags by which an overrun ends the process: a guard before return addresses, checked copies of the C library, and jumps
# that may land on entries alone. What they cost: docs/measurements/hardening.md.
option(HEMERA_HARDENING "Compile what is optimised with -fstack-protector-strong, _FORTIFY_SOURCE and -fcf-protection" ON)

# hemera_harden(TARGET SCOPE): the flags that this compiler has. Sanitizers have checks of their own for the first two.
function(hemera_harden target scope)
  if(NOT HEMERA_HARDENING OR HEMERA_SANITIZE)
    return()
  endif()
  include(CheckCXXCompilerFlag)
  check_cxx_compiler_flag(-fstack-protector-strong HEMERA_HAS_STACK_PROTECTOR)
  check_cxx_compiler_flag(-fcf-protection HEMERA_HAS_CF_PROTECTION)
  # The third level measures more objects. Compilers before these take it for the second.
  set(level 3)
  if(CMAKE_CXX_COMPILER_ID STREQUAL GNU AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 12)
    set(level 2)
  endif()
  # Distributions set a level of their own, and the C library warns where nothing is optimised.
  set(flags $<$<NOT:$<CONFIG:Debug>>:-U_FORTIFY_SOURCE> $<$<NOT:$<CONFIG:Debug>>:-D_FORTIFY_SOURCE=${level}>)
  if(HEMERA_HAS_STACK_PROTECTOR)
    list(APPEND flags -fstack-protector-strong)
  endif()
  if(HEMERA_HAS_CF_PROTECTION)
    list(APPEND flags -fcf-protection)
  endif()
  foreach(flag IN LISTS flags)
    target_compile_options(${target} ${scope} $<$<COMPILE_LANGUAGE:CXX>:${flag}>)
  endforeach()
endfunction()
