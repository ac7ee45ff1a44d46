# SPDX-License-Identifier: Apache-2.0
"""The vocabulary of the fable grammar: who, where, when and with what."""

HE = {"he": "he", "him": "him", "his": "his"}
SHE = {"he": "she", "him": "her", "his": "her"}

NAMES = {
    "he": """Bram Otto Felix Hugo Jasper Milo Oscar Rufus Silas Theo Tobias Victor Walter Edgar Barnaby Cedric
             Dexter Emil Finn Gideon Harold Ivor Jonas Kasper Leo Magnus Nolan Percy Quentin Rowan""".split(),
    "she": """Ada Bella Clara Daisy Edith Flora Greta Hazel Iris Juno Kira Luna Mabel Nora Olive Pearl Rosa Sylvia
              Tilda Una Vera Willa Ximena Yara Zelda Agnes Beatrix Cora Della Esme""".split(),
}

# Species and the home each of them goes back to.
SPECIES = {
    "fox": "den", "wolf": "den", "badger": "burrow", "rabbit": "burrow", "hare": "burrow", "mole": "burrow",
    "mouse": "little house", "squirrel": "hollow tree", "owl": "hollow tree", "raccoon": "hollow tree", "bear": "cave",
    "lion": "cave", "goat": "shed", "donkey": "stable", "horse": "stable", "ox": "stable", "crow": "nest",
    "magpie": "nest", "sparrow": "nest", "wren": "nest", "heron": "nest", "frog": "reed hut", "otter": "reed hut",
    "turtle": "reed hut", "hedgehog": "heap of leaves", "ant": "ant hill", "cat": "basket", "rooster": "coop",
    "beaver": "lodge", "bee": "hive",
}  # fmt: skip
ANY = [k for k in SPECIES if k not in ("ant", "bee")]
BIG = ["bear", "lion", "wolf", "ox", "horse", "goat"]
GNAWERS = ["mouse", "squirrel", "beaver", "rabbit"]
FLYERS = ["sparrow", "wren", "crow", "magpie"]
STINGERS = ["bee", "ant"]
FAST = ["hare", "fox", "horse", "wolf", "cat", "rabbit"]
SLOW = ["turtle", "hedgehog", "mole", "ox", "donkey", "badger", "frog"]
SLY = ["fox", "cat", "raccoon", "magpie", "wolf"]
WISE = ["owl", "turtle", "heron", "badger", "goat"]
BEASTS = ["bear", "goat", "donkey", "horse", "ox", "lion", "badger", "wolf"]

PLACES = [
    ("in a quiet valley", "the valley"), ("at the edge of a dark forest", "the forest"),
    ("on a green hill by the sea", "the hill"), ("near a small village", "the village"),
    ("beside a wide river", "the river"), ("in a sunny meadow", "the meadow"),
    ("on an old farm", "the farm"), ("deep in the pine woods", "the woods"),
    ("under a tall mountain", "the mountain"), ("on the shore of a blue lake", "the lake"),
    ("behind a ruined castle", "the castle"), ("in a garden full of roses", "the garden"),
    ("among the reeds of a marsh", "the marsh"), ("at the end of a dusty road", "the road"),
    ("on a lonely island", "the island"), ("near an ancient mill", "the mill"),
]  # fmt: skip

# The seasons, and what may be said of each.
SCENES = {
    "spring": [
        "It was spring, and the first flowers were out.", "That spring it rained day after day.",
        "It was spring, and the birds were building their nests.", "The spring air smelled of wet earth and grass.",
    ],
    "summer": [
        "It was a hot and dusty summer.", "That summer the sun shone day after day.",
        "It was summer, and the nights were short and warm.", "It was the driest summer that anyone could remember.",
    ],
    "autumn": [
        "It was autumn, and the leaves were red and gold.", "That autumn a thick fog lay over {place.the}.",
        "It was the time of the harvest.", "The autumn wind shook the apples from the trees.",
    ],
    "winter": [
        "It was winter, and snow lay on every roof.", "That winter was long and bitterly cold.",
        "It was winter, and ice hung from the branches.", "It was a mild winter with little snow.",
    ],
}  # fmt: skip

# (phrase, noun, plural)
THINGS = {
    "tool": [
        ("a silver bell", "bell", False), ("a brass lantern", "lantern", False), ("a wooden ladder", "ladder", False),
        ("a red umbrella", "umbrella", False), ("a little boat", "boat", False), ("a fine violin", "violin", False),
        ("a warm blanket", "blanket", False), ("an old map", "map", False), ("an iron kettle", "kettle", False),
        ("a sharp axe", "axe", False), ("a painted kite", "kite", False), ("a strong rope", "rope", False),
        ("two good spades", "spades", True), ("three blue cups", "cups", True), ("a pair of boots", "boots", True),
        ("a pair of scissors", "scissors", True),
    ],
    "food": [
        ("a round cheese", "cheese", False), ("a honey cake", "cake", False), ("a loaf of fresh bread", "bread", False),
        ("a ripe melon", "melon", False), ("a basket of figs", "figs", True), ("seven red plums", "plums", True),
        ("a sack of walnuts", "walnuts", True), ("ten sweet pears", "pears", True), ("a jar of berries", "berries", True),
        ("a heap of acorns", "acorns", True), ("a pot of honey", "honey", False), ("a bowl of cream", "cream", False),
    ],
    "treasure": [
        ("a golden ring", "ring", False), ("a green jewel", "jewel", False), ("a string of pearls", "pearls", True),
        ("a bag of coins", "coins", True), ("a crystal cup", "cup", False), ("a silver comb", "comb", False),
        ("a velvet cloak", "cloak", False), ("an ivory flute", "flute", False),
    ],
}  # fmt: skip

OPENINGS = [
    "Once upon a time, {place}, there lived {hero.full}.",
    "Once upon a time there was {hero.full}, who lived {place}.",
    "Once upon a time, {hero.full} lived {place}.",
    "Long ago, {place}, there lived {hero.full}.",
    "Many years ago, {hero.full} made {hero.his} home {place}.",
    "There once was {hero.full}, who had {hero.his} {hero.home} {place}.",
    "In the days when animals could speak, {hero.full} lived {place}.",
    "It is said that {hero.full} once lived {place}.",
]
