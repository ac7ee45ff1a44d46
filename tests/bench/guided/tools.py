# SPDX-License-Identifier: Apache-2.0
"""A hundred schemas of tools' arguments and values that fit them, written for measurements."""
import json
import pathlib
import random

FIXED = (
    "a", "the", "that", "of", "customer", "report", "naïve", "Zürich", "日本語", "we", "found",
    "deployment", "should", "be", "retried;", "see", "section", "4.2", "(draft)", "line\n",
    "\"quoted\"")


def words(count):
    """A text of so many words, the same each time."""
    chosen = random.Random(count)
    return " ".join(chosen.choice(FIXED) for _ in range(count))


def text(most, count=6, least=0):
    schema = {"type": "string", "maxLength": most}
    if least:
        schema["minLength"] = least
    return schema, words(count)[:most]


def pattern(expression, value, **more):
    return {"type": "string", "pattern": expression, **more}, value


def form(name, value):
    return {"type": "string", "format": name}, value


def whole(least, most, value):
    return {"type": "integer", "minimum": least, "maximum": most}, value


def number(value, **bounds):
    return {"type": "number", **bounds}, value


def one(*values):
    return {"type": "string", "enum": list(values)}, values[len(values) // 2]


def many(item, most, count=2, **more):
    schema, value = item
    return {"type": "array", "items": schema, "maxItems": most, **more}, [value] * count


def some(*names):
    """An object of fields, all required and no others."""
    return {"type": "object", "properties": {name: FIELDS[name][0] for name in names},
            "required": list(names), "additionalProperties": False}, \
        {name: FIELDS[name][1] for name in names}


def maybe(item):
    return {"anyOf": [item[0], {"type": "null"}]}, item[1]


COUNTRIES = [a + b for a in "ABCDEFGHIKLMNPRSTU" for b in "ADEGLMORTZ"]
FIELDS = {
    "title": text(200, 7, 1), "body": text(2000, 60), "summary": text(500, 20),
    "description": ({"type": "string"}, words(30)), "comment": text(4000, 40, 1),
    "name": text(64, 3, 1), "first_name": text(50, 1, 1), "last_name": text(50, 1, 1),
    "query": text(256, 5, 2), "prompt": text(2000, 25), "reason": ({"type": "string"}, words(8)),
    "email": form("email", "ana.lopez@example.org"),
    "url": form("uri", "https://example.org/a?b=1"),
    "uuid": form("uuid", "3f2504e0-4f89-41d3-9a0c-0305e82c3301"),
    "date": form("date", "2026-11-29"),
    "start": form("date-time", "2026-11-29T16:45:00Z"),
    "end": form("date-time", "2026-11-30T09:00:00+01:00"),
    "time": form("time", "09:30:00Z"), "host": form("hostname", "db-3.internal.example.org"),
    "ip": form("ipv4", "192.168.10.7"), "ip6": form("ipv6", "2001:db8::7"),
    "duration": form("duration", "P1DT2H30M"),
    "slug": pattern("^[a-z0-9]+(?:-[a-z0-9]+)*$", "quarterly-report-2026", minLength=3,
            maxLength=60),
    "sku": pattern("^[A-Z]{3}-[0-9]{4,6}$", "ABC-10442"),
    "phone": pattern(r"^\+[1-9]\d{6,14}$", "+4930123456789"),
    "zip": pattern(r"^\d{5}(-\d{4})?$", "10115"), "color": pattern("^#[0-9a-fA-F]{6}$", "#1e90ff"),
    "version": pattern(r"^\d+\.\d+\.\d+(-[0-9A-Za-z.-]+)?$", "22.1.3-rc.1", maxLength=40),
    "branch": pattern(r"^[A-Za-z0-9._/-]+$", "feature/guided-masks", maxLength=120),
    "commit": pattern("^[0-9a-f]{7,40}$", "c609686c12"),
    "handle": pattern("^@[A-Za-z0-9_]{1,15}$", "@ana_l"),
    "iban": pattern("^[A-Z]{2}[0-9]{2}[A-Z0-9]{11,30}$", "DE89370400440532013000"),
    "path": pattern("^/", "/in.csv", maxLength=255),
    "key": pattern("^[A-Z][A-Z0-9_]*$", "MAX_RETRIES", maxLength=64),
    "identifier": pattern("^[a-zA-Z_][a-zA-Z0-9_]{0,62}$", "user_id"),
    "mime": pattern("^[a-z]+/[a-z0-9.+-]+$", "application/json"),
    "cron": pattern(r"^(\S+ ){4}\S+$", "*/5 0 1 * 1", maxLength=80),
    "ticket": pattern("[A-Z]+-[0-9]+", "see OPS-1042 first", maxLength=100),
    "password": pattern("[0-9]", "correct horse 7", minLength=12, maxLength=128),
    "latitude": number(52.52, minimum=-90, maximum=90),
    "longitude": number(13.405, minimum=-180, maximum=180),
    "amount": number(1249.95, minimum=0, maximum=1000000),
    "price": number(19.99, exclusiveMinimum=0),
    "temperature": number(0.7, minimum=0, maximum=2), "score": number(0.93, minimum=0, maximum=1),
    "ratio": number(-3.5e-2), "count": whole(1, 100, 25), "page": whole(1, 10000, 3),
    "limit": whole(1, 500, 50),
    "offset": whole(0, 2147483647, 1200), "port": whole(1, 65535, 8443),
    "year": whole(1900, 2100, 2026),
    "age": whole(0, 150, 41), "priority": whole(1, 5, 2),
    "timestamp": whole(0, 9007199254740991, 1796000000),
    "retries": ({"type": "integer", "minimum": 0}, 3),
    "step": ({"type": "integer", "multipleOf": 5, "minimum": 0}, 35),
    "enabled": ({"type": "boolean"}, True), "dry_run": ({"type": "boolean"}, False),
    "unit": one("celsius", "fahrenheit", "kelvin"),
    "status": one("open", "in_progress", "blocked", "closed"),
    "level": one("debug", "info", "warning", "error", "critical"), "order": one("asc", "desc"),
    "country": one(*COUNTRIES),
    "currency": one("EUR", "USD", "GBP", "JPY", "CHF", "SEK", "NOK", "DKK", "PLN"),
    "language": one("de", "en", "es", "fr", "it", "ja", "ko", "nl", "pl", "pt", "ru", "sv", "tr",
            "uk", "zh"),
    "kind": ({"const": "event"}, "event"), "visibility": one("public", "private", "internal"),
    "metadata": ({"type": "object", "additionalProperties": {"type": "string", "maxLength": 500}},
            {"team": "data platform", "run": "17"}),
    "extra": ({"type": "object"}, {"note": "as agreed", "n": [1, 2.5, None]}),
    "settings": ({"type": "object", "propertyNames": {"pattern": "^[a-z_]+$", "maxLength": 40},
            "additionalProperties": {"type": ["string", "number", "boolean"]}}, {"depth": 3,
                    "mode": "fast"}),
    "value": ({"type": ["string", "number", "boolean", "null"]}, "eleven"),
}
FIELDS |= {
    "tags": many(text(50, 1), 10, 3), "labels": many(FIELDS["slug"], 20),
    "emails": many(FIELDS["email"], 50), "ids": many(FIELDS["uuid"], 100),
    "scores": many(FIELDS["score"], 1000, 6),
    "address": some("name", "zip", "country"), "location": some("latitude", "longitude"),
    "person": some("first_name", "last_name", "email", "age"), "window": some("start", "end"),
    "money": some("amount", "currency"), "note": maybe(text(1000, 12)),
    "due": maybe(FIELDS["date"]),
}
FIELDS |= {
    "people": many(FIELDS["person"], 25), "items": many(some("sku", "count", "price"), 200, 3),
    "places": many(some("name", "location", "tags"), 10),
    "filters": many(some("identifier", "order", "value"), 16),
    "steps": many(some("title", "description", "duration"), 30),
    "customer": some("person", "address", "phone"),
    "choice": ({"oneOf": [some("kind", "start", "title")[0], some("path", "mime")[0]]}, some("path",
            "mime")[1]),
}
TOOLS = """
create_issue: title body labels status people | update_issue: ticket title body priority note
close_issue: ticket reason status
search_documents: query limit offset language filters | get_weather: location unit date
geocode: query country limit
send_email: emails title body | schedule_meeting: title window people description
cancel_meeting: uuid reason
book_flight: person date country price | book_hotel: name address window count
convert_currency: money currency date
create_order: customer items note | refund_order: uuid money reason
track_parcel: identifier country language
add_product: sku name description price tags | update_stock: sku count step
list_products: query page limit order
create_user: handle person password | update_user: uuid email phone note
delete_user: uuid reason dry_run
open_pull_request: branch title body labels | review_commit: commit comment score
tag_release: version commit summary
run_query: prompt limit dry_run | create_table: identifier steps settings
insert_row: identifier extra
read_file: path offset limit | write_file: path body mime | move_file: path slug enabled
resolve_host: host ip ip6 | open_port: ip port reason | set_rule: key cron enabled
deploy: branch version host retries dry_run | roll_back: version reason window
scale: identifier count ratio
log_event: level timestamp body metadata | query_logs: level window query limit
alert: title level emails comment
translate: prompt language country | summarize: body count language | classify: prompt score choice
extract_person: person address note | extract_invoice: iban money date items
extract_places: places summary
plan_trip: places window money steps | find_route: location unit duration
rate_place: name score comment
pay: iban money reason | invoice: customer items due note | tax: country year amount
create_event: choice tags visibility | publish_post: title body tags visibility slug
moderate: comment score reason
image: prompt color count temperature | chat: prompt temperature limit extra
embed: prompt count scores
set_config: key value settings | get_config: key | patch_config: settings note dry_run
create_ticket: customer title body priority | assign_ticket: ticket handle due
merge_tickets: ids reason
register_device: uuid ip host version | update_device: uuid settings | ping: host port retries
create_course: title description steps people | grade: uuid score comment note | enroll: person year
upload: url mime metadata | download: url path | fetch_page: url page retries
create_contact: person phone address | merge_contacts: ids dry_run
export_contacts: mime filters limit
measure: scores ratio unit | chart: title scores color | forecast: location date scores
recipe: title items steps duration tags | meal_plan: people steps due | shopping_list: items money
job_post: title description money location labels | apply: person url note
interview: person window score
contract: customer body window iban | sign: uuid name date | archive: ids reason visibility
survey: title steps tags enabled | answer: uuid value comment | vote: uuid choice
timer: duration title | remind: start title emails | repeat: cron prompt window
patient: person date note metadata | prescribe: name count duration comment
lab_result: uuid scores unit value
vehicle: identifier year color price | service: date steps money | insure: customer year money
alias: first_name last_name handle | paint: color name | clock: time country | dial: phone name
"""


def cases():
    """[(name, schema, value)]."""
    for tool in TOOLS.replace("\n", " | ").split(" | "):
        if tool := tool.strip():
            name, fields = tool.split(": ")
            yield name, *some(*fields.split())


def suite(folder):
    """[(name, schema, value)] of the valid cases of a folder of the JSON Schema test suite."""
    for path in sorted(pathlib.Path(folder).glob("**/*.json")):
        for group in json.loads(path.read_text()):
            for case in group["tests"]:
                if case["valid"]:
                    yield f"{path.stem}: {group['description']}", group["schema"], case["data"]
