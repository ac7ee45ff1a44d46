# SPDX-License-Identifier: Apache-2.0
"""Writes the fables the example model is trained on: train.txt and heldout.txt.

The texts come from a small hand-written grammar, so they are free of anyone
else's copyright and can be made again, byte for byte, from the seeds.  A
document is a fable or a conversation about one; each ends with <|endoftext|>
and nothing stands between two documents.
"""

import argparse
import math
import os
import random
import re

from plots import PLOTS
from words import HE, NAMES, OPENINGS, PLACES, SCENES, SHE, SPECIES, THINGS

EOT, USER, ASSISTANT = "<|endoftext|>", "<|user|>", "<|assistant|>"
HELDOUT_SEED, TRAIN_SEED = 1, 2
CHAT_SHARE = 0.17


class Dice:
    """A seeded source of choices that also adds up their information, in nats."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.nats = 0.0

    def pick(self, options):
        self.nats += math.log(len(options))
        return options[self.random.randrange(len(options))]

    def chance(self, p):
        hit = self.random.random() < p
        self.nats -= math.log(p if hit else 1 - p)
        return hit


class Slot:
    """Something a sentence may mention: '{x}' is its plain form, '{x.his}' a field."""

    def __init__(self, plain, **fields):
        self.plain = plain
        self.__dict__.update(fields)

    def __str__(self):
        return self.plain


def with_article(noun):
    return ("an " if noun[0] in "aeiou" or noun.startswith("honest") else "a ") + noun


class Story:
    """Collects the paragraphs of one fable while a plot tells it."""

    def __init__(self, dice):
        self.dice = dice
        self.slots = {}
        self.paragraphs = []
        self.facts = []
        self.title = self.moral = self.topic = ""
        self.used = set()
        place, short = dice.pick(PLACES)
        self.slots["place"] = Slot(place, the=short)
        self.slots["season"] = Slot(dice.pick(list(SCENES)))

    def pick(self, options):
        return self.dice.pick(options)

    def character(self, slot, kinds, trait=None):
        """Casts a character of one of the kinds that no other character has."""
        kind = self.pick([k for k in kinds if k not in self.used])
        pronouns = self.pick([HE, SHE])
        name = self.pick([n for n in NAMES[pronouns["he"]] if n not in self.used])
        self.used |= {kind, name}
        he, him, his = pronouns["he"], pronouns["him"], pronouns["his"]
        home = SPECIES[kind]
        full = f"{with_article((trait + ' ' if trait else '') + kind)} named {name}"
        self.slots[slot] = Slot(
            name, kind=kind, a_kind=with_article(kind), A_kind=with_article(kind).capitalize(), home=home, trait=trait, he=he, him=him, his=his,
            He=he.title(), His=his.title(), himself=him + "self",
            full=full, Full=full[0].upper() + full[1:],
        )  # fmt: skip

    def thing(self, slot, kinds):
        """Chooses a thing; plural things agree with their verbs and pronouns."""
        phrase, noun, plural = self.pick([t for kind in kinds for t in THINGS[kind]])
        it, was, is_, this = ("them", "were", "are", "these") if plural else ("it", "was", "is", "this")
        self.slots[slot] = Slot(
            noun, a=phrase, the="the " + noun, it=it, was=was, is_=is_, This=this.title(),
            they="they" if plural else "it", They="They" if plural else "It", has="have" if plural else "has",
        )  # fmt: skip

    def slot(self, name, plain, **fields):
        self.slots[name] = Slot(plain, **fields)

    def fill(self, template):
        """Resolves every [a|b|c] to one of its branches, then the {slots}."""
        choice = re.compile(r"\[([^\[\]]*)\]")
        while match := choice.search(template):
            branch = self.pick(match.group(1).split("|"))
            template = template[: match.start()] + branch + template[match.end() :]
        return template.format(**self.slots)

    def tell(self, template):
        """Adds one paragraph."""
        self.paragraphs.append(self.fill(" ".join(template.split())))

    def open(self, slot, more, scene=True):
        """The first paragraph: who lived where, when, and what everyone knew of them."""
        self.slots["hero"] = self.slots[slot]
        scene = self.pick(SCENES[str(self.slots["season"])]) + " " if scene and self.dice.chance(0.5) else ""
        self.tell(self.pick(OPENINGS) + " " + scene + more)

    def fact(self, question, answer):
        self.facts.append((self.fill(question), self.fill(answer)))

    def end(self, title, topic, morals):
        self.title, self.topic, self.moral = self.fill(title), topic, self.fill(self.pick(morals))

    def body(self):
        return "\n\n".join(self.paragraphs)

    def text(self):
        """The fable with its moral and, now and then, a title."""
        lead = self.pick(["Moral: {}.", "The moral of this fable is that {}.", "And so we learn that {}.",
                          "This tale teaches that {}.", "Remember, then, that {}."])  # fmt: skip
        moral = self.moral[0].upper() + self.moral[1:] if lead.startswith("Moral") else self.moral
        title = self.title + "\n\n" if self.dice.chance(0.3) else ""
        return title + self.body() + "\n\n" + lead.format(moral)


def new_story(dice):
    story = Story(dice)
    dice.pick(PLOTS)(story)
    return story


def turn(role, text):
    return f"{role}\n{text}{EOT}"


def conversation(dice):
    """A fable on request, or a question about a fable, in the chat template."""
    story = new_story(dice)
    moral = turn(ASSISTANT, f"The moral is that {story.moral}.")
    fact_question, fact_answer = dice.pick(story.facts)
    kind = dice.pick(["request", "request", "request", "moral", "fact", "follow-up"])
    if kind == "moral":
        ask = dice.pick(["What is the moral of this fable?", "Read this fable and tell me its moral.",
                         "What does this story teach us?"])  # fmt: skip
        return turn(USER, f"{ask}\n\n{story.body()}") + moral
    if kind == "fact":
        return turn(USER, f"{story.body()}\n\n{fact_question}") + turn(ASSISTANT, fact_answer)
    verb = dice.pick(["Tell me", "Please tell me", "Write", "Please write", "I would like to hear"])
    about = dice.pick([
        "{hero.a_kind} who is {hero.trait}", "{hero.a_kind} named {hero}", "{hero.full}", story.topic,
        "{hero.a_kind} and {other.a_kind}", "{hero.a_kind}",
    ])  # fmt: skip
    text = turn(USER, story.fill(f"{verb} a fable about {about}.")) + turn(ASSISTANT, story.text())
    if kind == "follow-up":
        if dice.chance(0.4):
            return text + turn(USER, "What is the moral?") + moral
        return text + turn(USER, fact_question) + turn(ASSISTANT, fact_answer)
    return text


def document(dice):
    if dice.chance(CHAT_SHARE):
        return conversation(dice)
    return new_story(dice).text() + EOT


def documents(seed, size, exclude=frozenset()):
    """Distinct documents of about `size` bytes in all, and their information in nats."""
    dice, seen, total, nats = Dice(seed), set(exclude), 0, 0.0
    result = []
    while total < size:
        dice.nats = 0.0
        text = document(dice)
        if text not in seen:
            seen.add(text)
            result.append(text)
            total += len(text.encode())
            nats += dice.nats
    return result, nats


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", default=os.path.dirname(os.path.abspath(__file__)))
    parser.add_argument("--train-bytes", type=int, default=60_000_000)
    parser.add_argument("--heldout-bytes", type=int, default=280_000)
    args = parser.parse_args()
    heldout, nats = documents(HELDOUT_SEED, args.heldout_bytes)
    train, _ = documents(TRAIN_SEED, args.train_bytes, exclude=heldout)
    for name, texts in ("heldout.txt", heldout), ("train.txt", train):
        with open(os.path.join(args.out, name), "w", encoding="utf-8", newline="") as f:
            f.write("".join(texts))
        print(f"{name}: {len(texts)} documents")
    print(f"choices made for heldout.txt: {nats:.0f} nats, {nats / len(heldout):.1f} a document")


if __name__ == "__main__":
    main()
