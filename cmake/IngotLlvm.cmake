# SPDX-License-Identifier: Apache-2.0
# IngotLlvm: LLVM and MLIR, for what `ingot_compiler_library` makes. Programs use the shared
# libraries, so that a change links in moments. What users install says `ingot_link_llvm(Name)`: of
# the archives it takes what it uses, a third of the shared ones, needs no package of LLVM, and
# starts without the relocation of 250 MB.
define_property(TARGET PROPERTY INGOT_STATIC_LLVM
  BRIEF_DOCS "Whether a program takes LLVM and MLIR from archives")
add_library(IngotLlvm INTERFACE)
foreach(library MLIR LLVM)
  target_link_libraries(IngotLlvm INTERFACE
    "$<$<NOT:$<BOOL:$<TARGET_PROPERTY:INGOT_STATIC_LLVM>>>:${library}>")
endforeach()

# The archives are named by hand: the imported targets would add the shared library beside them.
file(GLOB INGOT_LLVM_ARCHIVES ${LLVM_LIBRARY_DIRS}/libMLIR*.a ${LLVM_LIBRARY_DIRS}/libLLVM*.a)

function(ingot_link_llvm name)
  set_target_properties(${name} PROPERTIES INGOT_STATIC_LLVM ON)
  # Of libgcc's functions those of half floats are younger than the systems that a wheel is for.
  target_link_libraries(${name} PRIVATE ${INGOT_LLVM_ARCHIVES} -lgcc)
  # Takes archives in any order, and hundreds of them in a second.
  target_link_options(${name} PRIVATE -fuse-ld=lld LINKER:--gc-sections)
endfunction()
