// SPDX-License-Identifier: Apache-2.0
// All operations of the llm dialect; one file per family.
include "dialects/llm/LlmWeightOps.td"
include "dialects/llm/LlmComputeOps.td"
include "dialects/llm/LlmAttentionOps.td"
include "dialects/llm/LlmExpertOps.td"
