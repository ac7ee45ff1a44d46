# SPDX-License-Identifier: Apache-2.0
"""The plots of the fable grammar.

A plot casts its characters, tells the fable paragraph by paragraph and names
its title, topic and morals.  In the templates [a|b] is a choice and {x.y} a
slot; what happens later in a plot follows from what was chosen before.
"""

from words import ANY, BEASTS, BIG, FAST, FLYERS, GNAWERS, SLOW, SLY, STINGERS, WISE

NUMBERS = ["two", "three", "four", "five", "six"]


def borrowed(s):
    """One borrows a thing from its owner; the borrower's trait decides how it comes back."""
    damage = {
        "careless": ("left {o.it} out in the rain", "ruined by the water"),
        "clumsy": ("dropped {o.it} on the stones", "broken"),
        "forgetful": ("put {o.it} down under a tree and forgot where", "gone"),
        "lazy": ("left {o.it} lying outside all night", "stolen"),
    }
    good = s.pick([True, False])
    trait = s.pick(["honest", "careful", "thoughtful", "grateful"] if good else list(damage))
    s.character("a", ANY, trait)
    s.character("b", ANY, s.pick(["kind", "patient", "generous", "cheerful"]))
    s.thing("o", ["tool"])
    s.slots["other"] = s.slots["b"]
    s.open("a", "[Not far away|Close by|Just across {place.the}] lived {b.full}, who owned {o.a}. "
           "{b} [was very fond of|took good care of|was proud of] {o.the}, for {o.they} {o.was} a gift from {b.his} "
           "[mother|father|grandmother|grandfather|oldest friend].")
    s.tell('One [morning|evening|day] in {season}, {a} [knocked at the door of|went to|came to] the {b.home} where '
           '{b} lived. "[Dear|Good] {b}," {a.he} said, "[may I borrow|will you lend me] {o.the}? I will bring {o.it} '
           'back [before sunset|tomorrow|in three days]." "[Of course|Gladly|With pleasure]," said {b}. "But '
           '[please take care of|please look after|be gentle with] {o.it}."')
    if good:
        s.tell("{a} was {a.trait}, and {a.he} [kept {a.his} word|did just as {a.he} had promised]. {a.He} "
               "[used {o.the} gently|held {o.the} tightly], [cleaned|polished|dusted] {o.it} when the work was "
               "done, and [carried {o.it} back|brought {o.it} home] to {b} [on time|before the hour was up].")
        s.tell('{b} [looked at|turned over|admired] {o.the} and smiled. "{o.They} {o.is_} even better than before," '
               '{b.he} said. "[From now on|From today], you may borrow [anything I own|whatever you need]." And '
               'when [a hard winter|a storm|a flood|a long drought] came, it was {b} who '
               '[opened {b.his} door to|shared {b.his} supper with|gave shelter to] {a}.')
        s.fact("How was {o.the} when {b} got {o.it} back?", "{o.They} {o.was} even better than before.")
        s.end("The {a.trait} {a.kind} and the {o}", "keeping a promise",
              ["a promise kept is worth more than gold", "trust grows when we care for what is not ours",
               "the one who returns a loan with care may always ask again"])
    else:
        deed, state = damage[trait]
        s.slot("deed", s.fill(deed), state=state)
        s.tell("But {a} was {a.trait}, and {a.he} soon [forgot {a.his} promise|thought of other things]. On the way "
               "home {a.he} {deed}. When {a.he} [came back|went to look] the next [day|morning], {o.the} {o.was} {deed.state}.")
        s.tell('{a} [hung {a.his} head|lowered {a.his} eyes] and told {b} [what had happened|the whole story]. {b} '
               '[sighed|was silent for a while]. "I am [sad|sorry] about {o.the}," {b.he} said, "but I am [sadder|sorrier] '
               'about your promise." When {a} asked to borrow [a basket|a wheelbarrow|a pot|a broom] the next {season}, '
               '{b} [shook {b.his} head|said no], and so did [all the neighbors|everyone else].')
        s.fact("What happened to {o.the}?", "{a} {deed}, and in the end {o.they} {o.was} {deed.state}.")
        s.end("The {a.trait} {a.kind} and the {o}", "a broken promise",
              ["a broken promise is harder to mend than a broken pot", "those who are careless with trust will lose it",
               "we should treat what we borrow better than what we own"])
    s.fact("Who owned {o.the}?", "{b} the {b.kind} owned {o.the}.")
    s.fact("Who borrowed {o.the}?", "{a} the {a.kind} borrowed {o.the} from {b}.")


def greedy(s):
    """One finds food and does not share it; later hunger turns the tables."""
    s.character("a", ANY, s.pick(["greedy", "selfish", "stingy"]))
    s.character("b", ANY, s.pick(["hungry", "poor", "weary", "humble"]))
    s.thing("o", ["food"])
    s.slots["other"] = s.slots["b"]
    s.slot("n", s.pick(NUMBERS))
    forgives = s.pick([True, False])
    s.open("a", "[One|On a] [cold|warm|bright|windy] {season} [morning|day], {a} [found|came upon|discovered] {o.a} "
           "[under a hedge|beside the path|in an empty cart|at the foot of a tree]. "
           '"[What luck|How lucky I am]!" {a.he} cried. "{o.They} {o.is_} [all mine|mine and only mine]."')
    s.tell('Just then {b.full} [came by|passed by|came down the path]. "[Good day|Hello], {a}," said {b}. "I have not '
           'eaten for {n} days. [Will you|Would you] give me a [little|small part] of {o.the}?" But {a} '
           '[hid {o.it} behind {a.his} back|pulled {o.it} closer|sat down on top of {o.it}]. "[No|Certainly not]," said '
           '{a.he}. "[Find your own food|There is not enough for two|Go and look somewhere else]." So {b} went away '
           '[with an empty belly|without a bite|still hungry].')
    s.tell("{a} ate and ate until [nothing was left|the last crumb was gone]. That night {a.he} had "
           "[a terrible stomach ache|such pains that {a.he} could not sleep], and [when the snow came|when the rains "
           "came|when the cold wind came] {a.his} {a.home} was [empty|bare]. Now it was {a} who had to "
           "[beg for food|go from door to door].")
    if forgives:
        s.tell('At last {a.he} came to {b}, who had worked hard and [filled {b.his} {b.home} with food|had plenty to '
               'eat]. {b} remembered [those {n} hungry days|how {a.he} had been sent away|{o.the}], yet {b.he} '
               '[set a second bowl on the table|cut the bread in half]. "Eat," said {b}. "[I know what hunger is|No one '
               'should go hungry]." {a} [was ashamed|blushed], and from that day on {a.he} never ate alone.')
        s.fact("Did {b} help {a}?", "Yes, {b} shared food with {a} although {a} had been {a.trait}.")
        s.end("The {a.trait} {a.kind} and the {b.kind}", "sharing",
              ["kindness is the best answer to greed", "the one who shares is richer than the one who keeps",
               "a generous heart can teach a greedy one"])
    else:
        s.tell('At last {a.he} came to {b}, who had [just enough for {b.himself}|only one small supper left]. '
               '"[Do you remember|Have you forgotten] {o.the}?" asked {b}. "I asked you for a little, and you gave me '
               'nothing. [Now there is not enough for two|Now go and look somewhere else]." And {a} went home '
               '[hungry|with an empty belly] and [thought about it for a long time|wished that {a.he} had shared].')
        s.fact("Did {b} help {a}?", "No, {b} sent {a} away because {a} had not shared {o.the}.")
        s.end("The {a.trait} {a.kind} and the {b.kind}", "greed",
              ["those who do not share cannot expect a share", "greed fills the belly for a day and empties it for a year",
               "whoever eats alone will also starve alone"])
    s.fact("Who found {o.the}?", "{a} the {a.kind} found {o.the}.")
    s.fact("How long had {b} not eaten?", "{b} had not eaten for {n} days.")


def race(s):
    """A fast one loses to a slow one; the weakness of the fast one decides how."""
    weakness = {
        "sleepy": ("lay down in the shade and closed {a.his} eyes", "snoring", "fast asleep"),
        "vain": ("stopped at a pool to look at {a.himself}", "combing {a.his} fur", "admiring {a.himself} in the water"),
        "greedy": ("found a bush of ripe berries and began to eat", "chewing", "eating berries"),
        "curious": ("saw a yellow butterfly and ran after it", "chasing the butterfly", "far away among the flowers"),
        "talkative": ("met an old friend and began to chat", "chatting", "telling stories by the road"),
    }
    s.character("a", FAST, s.pick(list(weakness)))
    s.character("b", SLOW, s.pick(["patient", "steady", "quiet", "stubborn"]))
    s.character("j", WISE, "wise")
    s.slots["other"] = s.slots["b"]
    act, doing, state = (s.fill(t) for t in weakness[s.slots["a"].trait])
    s.slot("act", act, doing=doing, state=state)
    s.slot("goal", s.pick(["the old bridge", "the tall oak", "the white stone", "the mill", "the church tower", "the last fence"]))
    s.thing("o", ["treasure", "food"])
    s.open("a", "{a} could run [faster than anyone else|like the wind], and {a.he} [never grew tired of saying so|told "
           "everyone about it]. [Most of all|More than anyone], {a.he} liked to laugh at {b.full}, who "
           "[walked slowly|never hurried|took one small step at a time].")
    s.tell('"[You are so slow|You move so slowly]," said {a}, "that [your shadow gets there first|the grass grows '
           'faster]." {b} [only smiled|was not angry]. "[Let us run a race|Race me, then] to {goal}," {b.he} said. '
           '{j} the {j.kind}, who was the judge, put up {o.a} as the prize. "[Ready, set, go|One, two, three]!" called {j}.')
    s.tell("{a} was out of sight [in a moment|at once|before {b} had taken ten steps]. [But halfway to {goal}|But after a "
           "while], {a.he} {act}. \"[I have plenty of time|There is no need to hurry],\" {a.he} thought. {b} "
           "[walked on and on|went on, step by step], [over the hill|through the mud|across the bridge], and never "
           "[stopped|rested|looked back]. When {b.he} [passed|came by], {a} was still {act.doing}.")
    s.tell('[At sunset|In the evening|Late in the afternoon] a [great|loud] cheer woke {place.the}. {b} had reached '
           '{goal}, while {a} was {act.state}! {a} [ran|raced|rushed] as fast as {a.he} could, but it was too late. {j} '
           'gave {o.the} to {b}, and {b} [said|told {a}], "[You were faster|Your legs are quick], but I did not stop."')
    s.fact("Who won the race?", "{b} the {b.kind} won the race and got {o.the}.")
    s.fact("Why did {a} lose the race?", "{a} lost because {a.he} {act}.")
    s.fact("What was the prize?", "The prize was {o.a}.")
    s.fact("Who was the judge?", "{j} the {j.kind} was the judge.")
    s.end("The {a.kind} and the {b.kind}", "[patience|a race]",
          ["slow and steady wins the race", "a gift is worth little to the one who wastes it",
           "those who boast at the start may weep at the end"])


def flattery(s):
    """A sly one talks a vain one out of food, unless the vain one learned better."""
    s.character("a", [k for k in SLY], s.pick(["sly", "clever", "cunning"]))
    s.character("b", ANY, s.pick(["vain", "proud", "foolish"]))
    s.thing("o", ["food"])
    s.slots["other"] = s.slots["b"]
    skill = s.pick([("sing", "voice", "opened {b.his} mouth to sing"), ("dance", "step", "began to dance"),
                    ("jump", "leap", "jumped high into the air"), ("tell jokes", "wit", "began to tell a joke")])
    s.slot("can", skill[0], gift=skill[1], does=s.fill(skill[2]))
    learned = s.pick([True, False, False])
    s.open("a", "{a} was [hungry|very hungry] that {season}, and {a.he} had an idea for everything but work. [One "
           "day|One evening|One morning] {a.he} saw {b.full} sitting [on a wall|on a branch|on a rock|on a fence] with {o.a}.")
    s.tell('"[What a fine|What a handsome] {b.kind} you are, {b}!" said {a}. "[Everyone says|They say in {place.the}] '
           'that no one can {can} as well as you. [Oh, if only|How I wish] I could [see|witness] it [just once|with my '
           'own eyes]!"')
    if learned:
        s.tell('{b} [was pleased|felt {b.his} heart grow warm], and almost {can.does}. But then {b.he} remembered how '
               '{b.his} [mother|father|sister|brother|uncle] had once lost {b.his} supper to sweet words. So {b.he} '
               '[first finished|first ate] {o.the}, down to the last bite, and only then {can.does}.')
        s.tell('"[That was well done|Wonderful]," said {a} with a [sour|long] face. "[And the food|Is nothing left]?" '
               '"[All gone|Not a crumb]," said {b}. "[Your praise was sweet|Thank you for the praise], but my supper was '
               'sweeter." And {a} [walked away|slunk off] [with an empty belly|as hungry as before].')
        s.fact("Who ate {o.the}?", "{b} the {b.kind} ate {o.the}.")
        s.end("The {a.kind} and the {b.trait} {b.kind}", "flattery",
              ["a wise ear hears what sweet words want", "praise costs nothing, so ask what it is meant to buy"])
    else:
        s.tell('{b} [was pleased|felt {b.his} heart grow warm]. {b.He} [put {o.the} down|let go of {o.the}] and {can.does}. '
               '[At once|In a flash|Quick as lightning], {a} [snatched {o.it}|took {o.it}] and [ran off|was gone] '
               '[into the bushes|down the hill|behind the wall].')
        s.tell('"[Thief|Come back]!" cried {b}. But {a} only [laughed|grinned]. "[Your {can.gift} is fine|You have a fine '
               '{can.gift}], {b}," {a.he} [called|said] with {a.his} mouth full, "[but you should learn to think|but it '
               'is a pity about your wits]." {b} [sat there with nothing|went home to an empty {b.home}] and was '
               '[wiser|a little wiser] the next time.')
        s.fact("Who ate {o.the}?", "{a} the {a.kind} ate {o.the}.")
        s.end("The {a.kind} and the {b.trait} {b.kind}", "flattery",
              ["those who listen to flattery must pay for it", "sweet words often hide a hungry mouth",
               "pride loses what good sense would keep"])
    s.fact("What did {a} praise?", "{a} said that no one could {can} as well as {b}.")
    s.fact("Who had {o.the} at first?", "{b} the {b.kind} had {o.the} at first.")


def false_alarm(s):
    """One raises false alarms until nobody comes when the danger is real."""
    s.character("a", ANY, s.pick(["bored", "mischievous", "dishonest"]))
    s.character("b", ANY, s.pick(["kind", "busy", "helpful", "brave"]))
    s.slots["other"] = s.slots["b"]
    danger = s.pick([("fire", "Fire! Fire!", "a fire broke out", "the flames", "left nothing of the {a.home} but ashes"),
                     ("flood", "The water is rising!", "the river rose", "the water", "filled the {a.home} to the top"),
                     ("hunter", "A hunter! A hunter!", "a hunter came", "the hunter", "chased {a} for seven miles"),
                     ("snake", "A snake! Help!", "a long snake came", "the snake", "drove {a} out of the {a.home}"),
                     ("storm", "A storm! A storm!", "a great storm came", "the wind", "tore at the {a.home} all night")])
    s.slot("danger", danger[0], cry=danger[1], comes=danger[2], The=danger[3].capitalize(), ends=s.fill(danger[4]))
    n = s.pick(["twice", "three times"])
    s.slot("n", n)
    s.open("a", "{a} was [often|always] [looking for fun|looking for something to laugh about]. A neighbor, {b} the "
           "{b.kind}, [lived next door|lived nearby] and [always came|was the first to come] when someone [called|needed help].")
    s.tell('One [quiet|hot|dull] {season} [afternoon|day], {a} [ran through {place.the}|climbed onto a rock] and shouted, '
           '"{danger.cry}" {b} [dropped {b.his} work|left {b.his} dinner] and came running. But there was no {danger} at '
           'all, and {a} [laughed until {a.he} cried|rolled on the ground with laughter]. "[You should see your '
           'face|How funny you look]!" {a.he} said. "[This is no joke|That was not kind]," said {b}.')
    again = "The next [day|week] {a} did it again, and again {b} came for nothing."
    s.tell(again + (" [A few days later|Before long] {a.he} did it once more, and {b} [went home very angry|left without a word]. "
                    if n == "three times" else " ") +
           '"[I will not come again|Now I know what your word is worth]," {b.he} [said|told {b.himself}].')
    s.tell('Then, [one dark night|late one evening|on the last day of {season}], {danger.comes} [in earnest|for real]. '
           '"{danger.cry}" screamed {a}, [as loud as {a.he} could|again and again]. {b} heard it, [shook {b.his} head|turned '
           'over in bed] and [stayed at home|did not come]. {danger.The} {danger.ends}, and [no one was there to help|no '
           'one came to help].')
    s.tell('[In the morning|When it was over], {a} [came to|stood before] {b} [in tears|trembling]. "Why did you not '
           '[come|help me]?" {a.he} asked. "[Because you fooled me {n}|You cried {danger} {n}]," said {b}, "and '
           '[I could not tell the lie from the truth|I believed you would do it again]."')
    s.fact("How often did {a} raise a false alarm?", "{a} raised a false alarm {n}.")
    s.fact("What was the danger?", "The danger was a {danger}.")
    s.fact("Why did {b} not come in the end?", "{b} did not come because {a} had lied {n}.")
    s.end("The {a.trait} {a.kind}", "[lying|telling the truth]",
          ["nobody believes a liar, even when the liar tells the truth", "a lie spends the trust that truth will need",
           "those who call for help in jest will call in vain"])


def small_friend(s):
    """A big one spares a small one, who later sets the big one free in its own way."""
    s.character("a", BIG, s.pick(["mighty", "proud", "fierce", "strong"]))
    way = s.pick(["gnaw", "fly", "sting"])
    s.character("b", {"gnaw": GNAWERS, "fly": FLYERS, "sting": STINGERS}[way], s.pick(["small", "tiny", "little"]))
    s.slots["other"] = s.slots["b"]
    trap = s.pick({"gnaw": ["net", "snare"], "fly": ["cage", "pit"], "sting": ["rope"]}[way])
    s.slot("trap", trap)
    s.open("a", "[All the animals|Everyone in {place.the}] [feared|stepped aside for] {a.him}. One [hot|lazy|still] "
           "{season} day, while {a} was [asleep|resting], {b.full} [ran|crept|wandered] across {a.his} nose by mistake. "
           "{a} [woke up|opened one eye] and [caught|held] {b} under one heavy foot.")
    s.tell('"[Please let me go|Spare me], {a}!" cried {b}. "[I am only {b.a_kind}|I am so small]. [One day|Perhaps one '
           'day] I will [repay you|help you]." {a} [laughed|had to laugh]. "[How could you|How could {b.a_kind}] ever help '
           'me?" {a.he} [said|asked]. But {a.he} [was in a good mood|was not cruel] and [lifted {a.his} foot|let {b} go].')
    if way == "gnaw":
        s.tell("Not long after, {a} was caught in a [hunter's|farmer's] {trap}. {a.He} [roared|pulled|struggled] and "
               "[roared|pulled|kicked], but the ropes only grew tighter. {b} heard {a.him} and [came running|came at "
               "once]. [All night long|Without a word], {b.he} gnawed at the ropes with {b.his} sharp "
               "teeth [until the last one broke|until every one of them was cut].")
        s.slot("how", "gnawing through the ropes")
    elif way == "fly":
        s.tell("Not long after, {a} [was caught|found {a.himself}] in a [hunter's|farmer's] {trap}. {a.He} [roared|pushed|jumped] "
               "and [roared|pushed|kicked], but there was no way out. {b} heard {a.him} and [came flying|came at once]. "
               + ("[High on a hook|Through an open window] {b.he} saw the key, took it in {b.his} beak, and "
                  "[dropped it into|laid it before] the cage. The door [swung|sprang] open."
                  if trap == "cage" else
                  "{b.He} [took a long vine|found a long vine] in {b.his} beak, tied it to a [tree|stump], and let the end "
                  "fall into the pit. {a} climbed out."))
        s.slot("how", "bringing the key" if trap == "cage" else "bringing a long vine")
    else:
        s.tell("Not long after, a [hunter|farmer|thief] threw a {trap} around {a.his} neck and [led {a.him} away|dragged "
               "{a.him} off]. {b} saw it and [called {b.his} sisters|did not waste a moment]. {b.He} [climbed|went] up the "
               "[arm|sleeve] of the man and stung him so hard that he [let go|dropped the rope] and ran away [howling|"
               "without looking back].")
        s.slot("how", "stinging the man")
    s.tell('{a} [was free|was free again]. "[I laughed at you|I thought you were weak]," {a.he} said [softly|quietly], '
           '"[and yet you saved my life|and you were stronger than I]." "[You spared me when I was in your hands|You let me go '
           'once]," {b} answered, "[and I kept my promise|and I do not forget]." From that day on, the {a.kind} and the '
           '{b.kind} were [friends|the best of friends].')
    s.fact("How did {b} help {a}?", "{b} helped {a} by {how}.")
    s.fact("What was {a} caught with?", "{a} was caught with a {trap}." if way == "sting" else "{a} was caught in a {trap}.")
    s.fact("Who let whom go first?", "{a} the {a.kind} let {b} the {b.kind} go first.")
    s.end("The {a.kind} and the {b.kind}", "[kindness|mercy|a small friend]",
          ["no act of kindness is ever wasted", "even the smallest friend can be a great help",
           "mercy is a seed that bears fruit in time"])


def winter_store(s):
    """One works while the other plays; winter asks both what they did."""
    s.character("a", ANY, s.pick(["lazy", "idle", "carefree"]))
    s.character("b", ANY, s.pick(["busy", "diligent", "careful"]))
    s.slots["other"] = s.slots["b"]
    s.thing("o", ["food"])
    play = s.pick([("sing", "sang", "singing"), ("dance", "danced", "dancing"), ("sleep in the sun", "slept in the sun", "sleeping in the sun"),
                   ("play the drum", "played the drum", "playing the drum"), ("swim in the lake", "swam in the lake", "swimming in the lake")])
    s.slot("play", play[0], ed=play[1], ing=play[2])
    helps = s.pick([True, False])
    s.open("a", "[All summer long|From morning to night], {a} {play.ed} and [did no work at all|never thought of tomorrow]. "
           "{a.His} neighbor, {b.full}, was not like that. Day after day {b.he} [gathered food|filled {b.his} {b.home} with food|worked in the fields] and "
           "[mended the roof|chopped wood|stacked wood by the door].", scene=False)
    s.tell('"[Why do you work so hard|Why so busy], {b}?" asked {a}. "[Come and {play} with me|The sun is shining]!" '
           '"[Winter will come|Summer does not last forever]," said {b}. "[I am putting food away|Today I work so that I '
           'can eat then], and you should do the same." "[Winter is far away|There is plenty of time]," said {a}, and '
           'went on {play.ing}.')
    s.tell("Then [the leaves fell|the days grew short], and one [grey|bitter] morning {place.the} was [white with snow|covered "
           "with ice]. {b} sat [by the fire|in the warm {b.home}] with {o.a}. {a} [looked for food everywhere|searched "
           "under the snow] and found [nothing|not one seed]. [Cold and hungry|Shivering], {a.he} knocked at the door of {b}.")
    s.tell('"[Please give me something to eat|I have had no supper for days]," said {a}. "What did you do all summer?" asked '
           '{b}. "I {play.ed}," said {a} [in a small voice|and looked at the floor]. ' + (
            '{b} [thought for a moment|sighed] and gave {a.him} [half|a part] of {o.the}. "[This time I will help '
            'you|Eat]," {b.he} said, "but next summer you will work [beside me|with me]." And {a} [did|kept {a.his} word]: '
            'the next summer {a.he} was the first to rise.' if helps else
            '"[Then you may go on {play.ing}|If you {play.ed} all summer, you can {play} all winter]," said {b}, and [shut the '
            'door|closed the door]. {a} [walked away through the snow|went home] and [learned a hard lesson|ate nothing but '
            'roots until spring].'))
    s.fact("What did {a} do all summer?", "{a} {play.ed} all summer.")
    s.fact("Did {b} give {a} any food?", "Yes, {b} gave {a} some of {o.the}." if helps else "No, {b} closed the door.")
    s.fact("Who was ready for the winter?", "{b} the {b.kind} was ready for the winter.")
    s.end("The {a.trait} {a.kind} and the {b.trait} {b.kind}", "[hard work|being lazy|getting ready for winter]",
          ["those who work in summer eat in winter", "today is the time to prepare for tomorrow"]
          + (["help is best when it teaches us to help ourselves"] if helps else ["idle days are paid for in hungry ones"]))


def bridge(s):
    """Two meet on a narrow bridge; being stubborn or giving way decides who gets wet."""
    s.character("a", BEASTS, s.pick(["stubborn", "proud", "quarrelsome"]))
    polite = s.pick([True, False])
    s.character("b", BEASTS, s.pick(["polite", "wise", "gentle"] if polite else ["stubborn", "hot-headed", "angry"]))
    s.slots["other"] = s.slots["b"]
    bridge, The = s.pick([("a narrow bridge", "The bridge"), ("a fallen log", "The log"), ("a plank", "The plank"),
                          ("a rope bridge", "The bridge")])
    s.slot("bridge", bridge, The=The)
    s.slot("goal", s.pick(["market", "the wedding of a cousin", "the harvest feast", "the doctor", "the fair"]))
    s.slot("goal2", s.fill("[to visit {b.his} sister|to sell apples|to fetch water|to see the sea]"))
    s.open("a", "[Not far from there|Close by], {bridge} led across a [deep|cold|rushing] [stream|river]. It was so narrow that "
           "[only one could cross at a time|two could not pass each other]. One {season} [morning|evening], {a} was on "
           "{a.his} way to {goal}, and {a.he} stepped onto it.")
    s.tell('At the same [time|moment], {b.full} stepped onto the other end, for {b.he} wanted {goal2}. They met [in the '
           'middle|right in the middle]. "[Go back|Out of my way]!" said {a}. "[I was here first|I go back for no one]."')
    if polite:
        s.tell('"[The water is deep|It is a long way down]," said {b}, "and if we fight, [we shall both fall in|both of us will get '
               'wet]. [Let me lie down, and you can step over me|I will go back, and you may cross first]." {a} had '
               '[expected a fight|never heard such words]. {a.He} [grew quiet|felt foolish], and {b} did as {b.he} had said. '
               '[In a moment|Soon] both of them were safe and dry.')
        s.tell('"[Why did you give way|Why did you do that]?" asked {a}. "[Because it cost me nothing|Because I like to stay '
               'dry]," said {b} [with a smile|and laughed], "and now I have a friend instead of a [bath|cold]." {a} '
               '[got to|came to] {goal} in time, and ever after {a.he} [was the first to step aside|let others cross first].')
        s.fact("Did anyone fall into the water?", "No, {b} gave way, and both of them stayed dry.")
        s.fact("Who gave way?", "{b} the {b.kind} gave way.")
        s.end("Two on a bridge", "[being polite|giving way]",
              ["it is better to bend than to fall", "the wise give way and lose nothing",
               "a kind word can cross where two stubborn heads cannot"])
    else:
        s.tell('"[Go back yourself|Never]!" said {b}, who was just as {a.trait}. "[My way is longer|I have more to do than '
               'you]." They [shouted|quarreled] until [the sun stood high|their voices were hoarse]. Then they [lowered '
               'their heads|stamped their feet] and pushed. {bridge.The} [shook|trembled], [creaked|cracked], and '
               '[broke|tipped over], and both of them fell into the [cold|deep] water.')
        s.tell('[Wet and shivering|Dripping from head to foot], they [climbed out|crawled out], {a} on one side and {b} on the '
               'other. {a} never got to {goal}, and {b} [went home, too|had no time left {goal2}]. "[If only I had waited|One '
               'of us should have waited]," {a} [muttered|said]. "[Or I|It could have been me]," said {b}.')
        s.fact("Did anyone fall into the water?", "Yes, both {a} and {b} fell into the water.")
        s.fact("Who gave way?", "No one gave way.")
        s.end("Two on a bridge", "[being stubborn|a quarrel]",
              ["two stubborn heads make one cold bath", "those who will not give way may both lose their way",
               "a quarrel won by no one is lost by both"])
    s.fact("Where did {a} want to go?", "{a} was on {a.his} way to {goal}.")


def river_spirit(s):
    """An honest one and a liar each lose a tool in the water."""
    s.character("a", ANY, s.pick(["honest", "humble", "poor"]))
    s.character("b", ANY, s.pick(["greedy", "envious", "dishonest"]))
    s.slots["other"] = s.slots["b"]
    s.slot("tool", s.pick(["axe", "hammer", "spade", "bucket", "cup", "spoon"]), old=s.pick(["old iron", "plain wooden", "rusty", "worn"]))
    s.slot("water", s.pick(["river", "lake", "well", "pond"]))
    a, spirit = s.pick([("an", "old fish"), ("a", "water spirit"), ("a", "white swan"), ("a", "silver frog")])
    s.slot("spirit", f"{a} {spirit}", the="the " + spirit, The="The " + spirit)
    s.open("a", "{a} owned nothing of worth but one {tool.old} {tool}. One {season} day, while {a.he} was at work by the "
           "{water}, the {tool} [slipped|fell] from {a.his} hands and sank. {a} [sat down and wept|began to weep], for "
           "without it {a.he} could not [earn {a.his} bread|work].")
    s.tell('[Suddenly|All at once|Then] {spirit} rose from the {water} and held up a golden {tool}. "Is this yours?" "No," said '
           '{a}, "[that is not mine|mine was not so fine]." {spirit.The} dived again and brought up a silver one. "Is '
           'this yours?" "No," said {a}, "[mine is|mine was only] {tool.old}." The third time it was the {tool.old} {tool}, '
           'and {a} [cried out with joy|laughed with joy]. "That is mine!" "You are honest," said {spirit.the}. "[Take all '
           'three|All three are yours]."')
    s.tell('A neighbor, {b.full}, heard [the story|of it] and [ran to|went to] the {water} [the very next day|that same night]. {b.He} '
           '[threw|dropped] {b.his} own {tool} into the water and [pretended to weep|wept loudly]. Again {spirit.the} rose '
           'and held up a golden {tool}. "Is this yours?" "[Yes, yes|Yes, of course]!" cried {b}, and [reached out for '
           'it|stretched out {b.his} hands].')
    s.tell('"[You lie|That is a lie]," said {spirit.the}, and sank with the golden {tool} [to the bottom|out of sight]. It did not '
           'come back. So {b} lost [even the {tool} {b.he} had|what {b.he} had owned], while {a} had three: one of gold, one '
           'of silver, and one that was {tool.old}.')
    s.fact("What did {a} lose?", "{a} lost one {tool.old} {tool}.")
    s.fact("Who told a lie?", "{b} the {b.kind} told a lie.")
    s.fact("Who was honest?", "{a} the {a.kind} was honest.")
    s.fact("How many {tool}s did {a} have in the end?", "{a} had three in the end.")
    s.end("The {a.kind} and the golden {tool}", "[honesty|telling the truth]",
          ["honesty is worth more than gold", "the one who grasps at everything may lose all",
           "a lie sinks, and the truth rises to the top"])


def judge(s):
    """Two claim one thing; the judge asks for a mark that only the owner knows."""
    s.character("a", ANY, s.pick(["quiet", "shy", "gentle", "young"]))
    s.character("b", ANY, s.pick(["loud", "boastful", "dishonest", "bold"]))
    s.character("j", WISE, "wise")
    s.slots["other"] = s.slots["b"]
    s.thing("o", ["treasure", "tool"])
    s.slot("mark", s.pick(["a small star", "a thin scratch", "a tiny heart", "a blue thread", "a drop of wax", "two letters"]))
    s.slot("claim", s.pick(["a red flower", "a deep crack", "a white moon", "a black spot", "the number nine", "a green leaf"]))
    s.open("a", "{a} owned {o.a}, and {a.he} [loved {o.it}|kept {o.it} under {a.his} pillow]. One {season} day {o.the} {o.was} "
           "gone. [Soon after|A week later], {a} saw {o.it} in the hands of {b.full}.")
    s.tell('"[{o.This} {o.is_} mine|Give {o.it} back]!" said {a}. "[I have had {o.it} for years|I bought {o.it} at the '
           'market]," said {b} [in a loud voice|and laughed]. [All of {place.the}|Everyone] believed {b}, because {b.he} spoke so '
           '[loudly|well]. So the two of them went to {j} the {j.kind}, who was known to be wise.')
    s.tell('{j} [listened to both|let both of them speak] and [thought for a while|closed {j.his} eyes]. Then {j.he} covered '
           '{o.the} with a cloth. "[The true owner|Whoever owns {o.it}]," said {j}, "will know the secret mark. {b}, what is it?" {b} '
           '[turned pale|scratched {b.his} head]. "[It is|There is] {claim}," {b.he} [guessed|said at last]. "And you, {a}?" '
           '"[It is|There is] {mark}," {a} [whispered|said softly], "[on the bottom|on the left side|where no one looks]."')
    s.tell('{j} [took away|lifted] the cloth, and everyone [came closer|leaned in]. There was no sign of {claim}, but there was '
           '{mark}, just as {a} had said. "[Take what is yours|{o.They} {o.has} found the way home], {a}," said {j}. {b} [had to '
           'say that {b.he} was sorry|left {place.the} in shame], and [no one|nobody] [cared|asked] any more how loud {b.he} could shout.')
    s.fact("Who owned {o.the}?", "{a} the {a.kind} owned {o.the}.")
    s.fact("What was the secret mark?", "The secret mark was {mark}.")
    s.fact("What did {b} guess?", "{b} guessed {claim}.")
    s.fact("Who was the judge?", "{j} the {j.kind} was the judge.")
    s.end("The {j.kind} who judged", "[justice|a wise judge]",
          ["truth does not need a loud voice", "a lie knows much, but never the small things",
           "a wise judge asks before believing"])


def together(s):
    """Three try alone what only all three can do; the last and smallest makes the difference."""
    s.character("a", ANY, s.pick(["tired", "worried", "hard-working", "old"]))
    s.character("b", BIG, "strong")
    s.character("c", GNAWERS + FLYERS + STINGERS, "tiny")
    s.slots["other"] = s.slots["b"]
    task = s.pick([("a giant turnip", "pull it out of the ground", "pulled", "came out", "made soup of it", "turnip"),
                   ("a huge rock on the path", "roll it away", "pushed", "rolled away", "danced on the open path", "rock"),
                   ("a cart stuck in the mud", "get it out", "pulled", "came free", "rode home in it", "cart"),
                   ("a fallen tree before the door", "move it aside", "pushed", "moved", "built a table from it", "tree")])
    s.slot("task", task[0], do=task[1], ed=task[2], gives=task[3], then=task[4])
    s.slot("thing", task[5])
    s.open("a", "One {season} morning {a} found {task}. {a.He} [tried|wanted] to {task.do}. {a.He} {task.ed} and {task.ed}, but "
           "the {thing} [did not move|stayed where it was].")
    s.tell('[Along came|Then came] {b.full}. "[Let me do it|Step aside]," said {b}. "[I am the strongest in {place.the}|I need '
           'no help]." {b.He} {task.ed} alone until [{b.his} back hurt|{b.he} was out of breath], but the {thing} [did not '
           'move|stayed where it was]. "[Let us try together|Perhaps two can do it]," said {a}. {a} and {b} {task.ed} side by '
           'side, and the {thing} [shook|moved] a little, but [no more|that was all].')
    s.tell('{c.Full} had been watching. "[May I help|Could I help]?" asked {c}. {b} [laughed|snorted]. "[You|{c.A_kind}]? [What '
           'use are you to us|What good would that do]?" "[Every bit helps|Let {c.him} try]," said {a}. So {c} [took '
           'hold|stood beside them], and {a} counted, "One, two, three!" All three of them {task.ed}, and the {thing} {task.gives}.')
    s.tell('"[It was {c} who did it|Without {c} we would have failed]!" said {a}. {b} [bowed {b.his} head|looked at the ground]. '
           '"[I was wrong|I laughed too soon]," {b.he} said. "[Thank you|Forgive me], {c}." That evening the three friends '
           '{task.then}, and [{c} got the best seat|no one asked who was big and who was small].')
    s.fact("Who came last?", "{c} the {c.kind} came last.")
    s.fact("How many animals were needed?", "Three animals were needed: {a}, {b} and {c}.")
    s.fact("What did {a} find?", "{a} found {task}.")
    s.end("The {a.kind}, the {b.kind} and the {c.kind}", "[working together|friendship]",
          ["many small strengths make a great one", "together we can do what none of us can do alone",
           "no help is too small to be welcome"])


def warning(s):
    """An elder warns a young one; what the young one does decides what follows."""
    s.character("a", ANY, s.pick(["curious", "bold", "restless", "young"]))
    s.character("b", WISE, s.pick(["old", "wise", "gentle"]))
    s.slots["other"] = s.slots["b"]
    peril = s.pick([("cross the ice", "the ice", "too thin", "cracked, and {a} fell into the freezing water"),
                    ("climb the old tower", "the stairs", "rotten", "broke, and {a} hung high above the ground"),
                    ("go into the dark cave", "the cave", "full of turns", "had no end, and {a} could not find the way out"),
                    ("eat the red mushrooms", "the mushrooms", "not good to eat", "made {a} sick for many days"),
                    ("walk through the bog", "the ground", "too soft", "gave way, and {a} sank up to the neck")])
    s.slot("do", peril[0], what=peril[1], why=peril[2], harm=s.fill(peril[3]), What=peril[1][0].upper() + peril[1][1:])
    s.slot("be", "are" if peril[1].endswith("s") and peril[1] != "ice" else "is", past="were" if peril[1].endswith("s") else "was")
    s.slot("reason", s.pick(["a lost ball", "a beautiful feather", "a short way home", "a good story to tell", "a dare"]))
    obeys = s.pick([True, False, False])
    s.open("a", '{a.His} teacher was {b.full}, who had seen many winters. "[Hear me|Listen well], {a}," said {b} one {season} '
           '[evening|morning]. "[Whatever you do|Promise me this], do not {do}. {do.What} {be} {do.why}." "[Yes, yes|I know]," '
           'said {a}, who was [thinking of other things|only half listening].')
    s.tell('The very next [day|morning], {a} wanted to {do} for the sake of {reason}. "[It looks safe enough|Nothing will happen]," '
           '{a.he} [said|told {a.himself}]. "{b} is [only old|always afraid]."')
    if obeys:
        s.tell('But then {a} [stopped|stood still]. {a.He} [picked up a stone|took a long stick] and tested what lay before '
               '{a.him}, and saw that {b} had [told the truth|been right]: {do.what} {be.past} {do.why}. {a} [turned '
               'around|went back] with a [pounding|beating] heart.')
        s.tell('"[I nearly did it|I almost forgot your words]," {a} [confessed|told {b}] that evening. "[But you did not|Yet you '
               'remembered them]," said {b}, and [poured {a.him} a cup of tea|gave {a.him} a warm smile]. "[I knew another who did '
               'not stop|Once I was young as well], and that is why I warned you." And {a} never thought of {reason} again.')
        s.fact("Did {a} listen to {b}?", "Yes, {a} stopped in time.")
        s.end("The {a.kind} who stopped in time", "[good advice|listening]",
              ["good advice heard in time is worth a treasure", "it is wise to test what looks safe"])
    else:
        s.tell('So {a} went [alone|without telling anyone]. {do.What} {do.harm}. "[Help|Help me]!" {a.he} [cried|called], [but there '
               'was no answer|but only the wind answered]. [Hours|A long time] passed, and {a} [thought of|remembered] every '
               'word that {b} had said.')
        s.tell('It was {b} who [found {a.him} at last|came to look for {a.him}]. {b} [asked no questions|did not scold]. {b.He} '
               '[brought {a.him} home|carried {a.him} home], [wrapped {a.him} in a blanket|sat at {a.his} side] and [made|cooked] '
               '{a.him} soup. "[I should have listened|You were right]," said {a}. "{do.What} {be.past} {do.why}." "[Now you know|You '
               'will listen next time]," said {b}, "and [that is something|next time you may warn another]."')
        s.fact("Did {a} listen to {b}?", "No, {a} did not listen.")
        s.end("The {a.kind} who would not listen", "[good advice|not listening]",
              ["those who will not hear must feel", "old eyes see what young feet forget",
               "a warning is cheaper than a rescue"])
    s.fact("What did {b} warn {a} about?", "{b} told {a} not to {do}.")
    s.fact("Why did {a} want to {do}?", "{a} wanted to {do} for the sake of {reason}.")


PLOTS = [borrowed, greedy, race, flattery, false_alarm, small_friend, winter_store, bridge, river_spirit, judge, together, warning]
