// SPDX-License-Identifier: Apache-2.0
// A grammar of the JSON texts that a schema lets through.
#pragma once

#include "runtime/core/Status.h"
#include "runtime/guided/Grammar.h"
#include "runtime/guided/json/JsonForm.h"

#include <memory>
#include <string_view>

namespace ingot::runtime::guided {

/// The texts that match `schema`, in draft 7 or 2020-12. In objects the members come in the order
/// in which the schema names them (`required` adds its names last), and then others where these are
/// allowed. A name of the schema comes once and in no other spelling; that others come once is for
/// UniqueNames to see. Whole numbers (`integer`, constants) have no point and no exponent; other
/// numbers are as NumberText says; leap seconds are of UTC, host names without "xn--". Names and
/// constants are written with the fewest escapes; other strings in any way that JSON has.
/// Keywords beside `$ref` bind, but where `$schema` says draft 7 or earlier; formats bind. Names
/// that are no keyword are annotations, but for those of UnknownKeywords, which are errors.
///
/// Errors name the place as a JSON pointer: INGOT-E6610 for what is no JSON, INGOT-E6611 for a
/// keyword that is not known or cannot be enforced, INGOT-E6612 for a reference, INGOT-E6602 for
/// a pattern, INGOT-E6613 where no value matches, INGOT-E6614 and INGOT-E6601, INGOT-E6603 for what
/// is too large.
Result<std::shared_ptr<const Grammar>> schemaGrammar(std::string_view schema,
                                                     const JsonForm &form = {});

/// The texts of every JSON object, or of every value.
Result<std::shared_ptr<const Grammar>> jsonGrammar(bool onlyObjects, const JsonForm &form = {});

} // namespace ingot::runtime::guided
