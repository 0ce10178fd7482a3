# The bill of materials of a wheel (CycloneDX 1.6, where PEP 770 has it): the works that are compiled in, with the versions
# of this build, so that a weakness of theirs can be matched.

# hemera_version(VARIABLE HEADER PREFIX PART...): the version in a header's lines `#define PREFIX<PART> number`.
function(hemera_version variable header prefix)
  file(STRINGS "${header}" lines REGEX "^#[ \t]*define[ \t]+${prefix}")
  set(found "")
  foreach(part IN LISTS ARGN)
    if(NOT "${lines}" MATCHES "define[ \t]+${prefix}${part}[ \t]+\"?([0-9._]+)")
      message(FATAL_ERROR "${header} has no ${prefix}${part}, which the bill of materials names")
    endif()
    list(APPEND found ${CMAKE_MATCH_1})
  endforeach()
  list(JOIN found . found)
  set(${variable} ${found} PARENT_SCOPE)
endfunction()

# hemera_component(LIST NAME VERSION LICENCE PURL): adds a component's JSON to the list.
function(hemera_component list name version licence purl)
  list(APPEND ${list} "    {\"type\": \"library\", \"name\": \"${name}\", \"version\": \"${version}\", \"purl\": \"${purl}@${version}\", \"licenses\": [{\"license\": {\"id\": \"${licence}\"}}]}")
  set(${list} ${${list}} PARENT_SCOPE)
endfunction()

# hemera_write_sbom(FILE NAME COMPONENTS): writes the bill of the wheel NAME.
function(hemera_write_sbom file name components)
  list(JOIN components ",\n" components)
  file(CONFIGURE OUTPUT ${file} @ONLY CONTENT "{
  \"bomFormat\": \"CycloneDX\",
  \"specVersion\": \"1.6\",
  \"version\": 1,
  \"metadata\": {\"component\": {\"type\": \"library\", \"bom-ref\": \"${name}\", \"name\": \"${name}\", \"version\": \"${PROJECT_VERSION}\", \"licenses\": [{\"license\": {\"id\": \"Apache-2.0\"}}]}},
  \"components\": [
${components}
  ]
}
")
endfunction()
