# SPDX-License-Identifier: Apache-2.0
# Run as a script: writes to TO, made from FROM, the SHA-256 of FILES, names included,
# as a constant of the namespace INGOT_DIGEST_NAMESPACE.
set(all "")
foreach(file ${FILES})
  file(SHA256 ${file} digest)
  get_filename_component(name ${file} NAME)
  string(APPEND all "${name} ${digest}\n")
endforeach()
string(SHA256 INGOT_SOURCE_DIGEST "${all}")
configure_file(${FROM} ${TO} @ONLY)
# configure_file leaves an equal file alone; the build asks for one that is newer than FILES.
file(TOUCH ${TO})
