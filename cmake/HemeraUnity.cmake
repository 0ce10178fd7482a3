# Compiles files together, several of a folder at a time: the headers that a small file includes take longer than what it
# holds. Kernels are left alone, so that what is inlined into them does not depend on their neighbours.
option(HEMERA_UNITY_BUILD "Compile several source files at a time, with headers read in advance" ON)

# Of the files that follow, those of one folder are split into groups of about equal size, of at most `most` files.
function(hemera_compile_together target most)
  if(NOT HEMERA_UNITY_BUILD)
    return()
  endif()
  set(folders "")
  foreach(source IN LISTS ARGN)
    get_filename_component(folder "${source}" DIRECTORY)
    list(APPEND folders "${folder}")
    list(APPEND "of ${folder}" "${source}")
  endforeach()
  list(REMOVE_DUPLICATES folders)
  foreach(folder IN LISTS folders)
    file(RELATIVE_PATH name ${CMAKE_CURRENT_SOURCE_DIR} "${folder}")
    string(MAKE_C_IDENTIFIER "${name}" name)
    list(LENGTH "of ${folder}" files)
    math(EXPR groups "(${files} + ${most} - 1) / ${most}")
    set(index 0)
    foreach(source IN LISTS "of ${folder}")
      math(EXPR group "${index} * ${groups} / ${files}")
      math(EXPR index "${index} + 1")
      set_source_files_properties("${source}" PROPERTIES UNITY_GROUP ${name}_${group})
    endforeach()
  endforeach()
  set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP)
endfunction()

# target_precompile_headers: reads the headers that nearly every file includes once for the target. Files with instruction
# sets of their own say SKIP_PRECOMPILE_HEADERS. A compiler cache knows results by the text that they are made of, which
# this would hide.
function(hemera_precompile_headers target)
  if(HEMERA_UNITY_BUILD AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
    target_precompile_headers(${target} ${ARGN})
  endif()
endfunction()
