// RUN: %ingot_opt %s --split-input-file --verify-diagnostics --ingot-engine-round-trip

engine.unit @u <"host", backend = "x86", arch = "x86-64", preference = 1> {
  // expected-error @+1 {{INGOT-E3902: kernel has not been compiled into a library}}
  engine.kernel @k from "x"
}

// -----

engine.unit @u <"host", backend = "x86", arch = "x86-64", preference = 1> {
  // expected-error @+1 {{INGOT-E3901: an engine file has no place for this operation}}
  engine.dim @T "step" 1 to 2
}
