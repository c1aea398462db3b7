"""Words that the check of claims knows: negations, opposites, synonyms, numbers in letters."""

from __future__ import annotations

from typing import Final


def listed(words: str) -> list[str]:
    return words.split()


NEGATIONS: Final = frozenset(
    listed(
        "not no never without cannot nor none neither nothing nobody hardly barely scarcely isn't "
        "aren't wasn't weren't don't doesn't didn't can't couldn't won't wouldn't shouldn't "
        "mustn't needn't hasn't haven't hadn't avoid avoids avoiding prevent prevents forbids "
        "forbidden lacks lack missing except unable fails refuses"
    )
)
MILDER: Final = frozenset(
    listed(
        "only just rule rules bad badly rather less fewer few rarely seldom hard hidden hide wrong "
        "lose lost far little low poor short unlike unlikely contrast but however although weak "
        "ignore ignored drop dropped skip reject rejected disable off outside except beyond free "
        "instead otherwise fail failure refuse lack miss absent ban prohibit deny decline exclude "
        "stop cease halt end stay remain still difficult too restrict limit limited "
        "protect separate different worse mistake error incorrect invalid impossible leak until "
        "broken lazy lazily delay delayed save saves leave leaves left"
    )
)
"""Words by which a true sentence may say what its passage says with a negation."""
PREFIXES: Final = ("un", "in", "im", "ir", "il", "non", "dis", "mis")
"""What turns a word into its opposite when put before it."""
CONDITIONS: Final = frozenset(listed("if when whenever unless"))
"""Words that open a clause which asserts nothing."""
CONNECTIVES: Final = frozenset(listed("but although though however"))
PLACING: Final = frozenset(listed("from to by for with into than as in on of at before after"))
"""Prepositions that give the word after them its part in a sentence."""
JOINING: Final = frozenset(listed("and or nor"))
CALENDAR: Final = frozenset(
    listed(
        "January February March April May June July August September October November December "
        "Monday Tuesday Wednesday Thursday Friday Saturday Sunday"
    )
)
"""Passages write dates in digits as often as in words."""
OPPOSITES: Final = (
    ("add adds added insert", "remove removes removed delete"),
    ("start starts begin begins beginning first", "stop stops end ends ending last"),
    ("before prior precede earlier", "after afterwards follow later"),
    (
        "increase raise grow rise larger grows raises raising expand",
        "decrease reduce shrink lower drop cut smaller",
    ),
    (
        "more most greater greatest maximum maximize maximal highest",
        "less fewer least minimum minimize minimal",
    ),
    ("always every all any", "never none seldom rarely"),
    ("possible allowed", "impossible forbidden"),
    ("encrypt encode compress", "decrypt decode decompress"),
    ("fast faster quick quicker", "slow slower"),
    ("large larger big bigger largest biggest", "small smaller smallest little tiny"),
    ("high higher highest", "low lower lowest"),
    ("safe secure", "unsafe insecure"),
    ("true success succeed successful", "false failure fail unsuccessful"),
    ("enable enabled", "disable disabled"),
    ("open opened", "close closed"),
    ("left", "right"),
    ("ascending", "descending"),
    ("read reader", "write writer"),
    ("push", "pull"),
    ("best", "worst"),
    ("cheap cheaper inexpensive", "expensive costly"),
    ("easy simple easier simpler", "hard difficult complex complicated harder"),
    ("same equal equivalent identical", "different differ unequal"),
    ("necessary required require must need needed mandatory", "unnecessary optional needless"),
    ("static statically", "dynamic dynamically"),
    ("known", "unknown"),
    ("positive", "negative"),
    ("often frequent frequently usually", "seldom rarely infrequent infrequently rare"),
    ("many", "few"),
    ("better improve", "worse worsen degrade"),
    ("correct right", "incorrect wrong"),
    ("directed", "undirected"),
    ("weighted", "unweighted"),
    ("mutable", "immutable"),
    ("internal inside", "external outside"),
    ("early eager eagerly", "late lazy lazily"),
    ("local", "remote"),
    ("local", "global"),
    ("public", "private"),
    ("synchronous", "asynchronous"),
    ("agree", "disagree misguided"),
    ("single", "multiple several"),
    ("automatically automatic", "hand manually manual"),
    ("more less", "equivalent"),
    ("leading", "trailing"),
    ("agrees", "disagrees"),
    ("depend", "independent"),
    ("absolute absolutely", "relative relatively"),
    ("advantage benefit strength", "disadvantage drawback weakness downside"),
    ("long longer longest", "short shorter shortest"),
    ("upper top", "lower bottom"),
    ("horizontal horizontally", "vertical vertically"),
    ("accept agree", "reject refuse decline"),
    ("allow permit", "forbid prohibit deny prevent disallow"),
    ("lock", "unlock"),
    ("create", "destroy"),
    ("allocate", "deallocate"),
    ("good", "bad"),
    ("include", "exclude omit"),
    ("import", "export"),
    ("upload", "download"),
    ("attach", "detach"),
    ("strong strongly stronger", "weak weakly weaker"),
    ("dense", "sparse"),
    ("new newer newest latest", "old older oldest"),
    ("sequential sequentially serial", "parallel concurrent concurrently"),
    ("inbound ingress incoming", "outbound egress outgoing"),
    ("useful", "useless"),
    ("harmless", "harmful"),
    ("idle", "busy"),
    ("full", "empty"),
    ("gain", "lose loss"),
    ("hit", "miss"),
    ("inner", "outer"),
    ("rise", "fall"),
    ("succeed", "fail"),
    ("upstream", "downstream"),
    ("immediate immediately soon", "deferred eventually"),
    ("continue proceed", "stop halt abort"),
    ("prefer preferred", "avoid"),
    ("wide wider", "narrow narrower"),
    ("deep deeper", "shallow shallower"),
    ("rich", "poor"),
    ("exact exactly precise", "approximate approximately roughly"),
    ("temporary temporarily", "permanent permanently"),
    ("plus", "minus"),
    ("multiply", "divide"),
    ("hide hidden", "show shown expose"),
    ("keep kept retain", "discard drop remove"),
    ("mandatory", "voluntary"),
    ("support", "oppose"),
)
SYNONYMS: Final = (
    "remove delete erase drop",
    "begin start",
    "end finish stop",
    "use apply employ utilize usage",
    "big large huge",
    "fast quick rapid",
    "decrease reduce lower shrink",
    "increase raise grow",
    "save store keep hold kept held",
    "fetch retrieve get obtain read load",
    "build create make construct made built",
    "change modify alter update",
    "error failure fault",
    "show display print",
    "choose select pick chosen",
    "call invoke",
    "return yield give given",
    "allow permit let enable",
    "require need must",
    "function method routine",
    "argument parameter",
    "directory folder",
    "database db",
    "application app program",
    "configuration config setting",
    "documentation docs",
    "repository repo",
    "memory ram",
    "processor cpu",
    "operating os",
    "maximum max most",
    "minimum min least",
    "average mean",
    "request ask query",
    "send sent transmit pass forward",
    "part component piece",
    "kind type sort form",
    "way approach technique",
    "expensive costly",
    "cost price",
    "same equal identical equivalent",
    "different distinct",
    "new fresh",
    "whole entire complete full",
    "wait block",
    "run execute execution running ran",
    "check verify validate test",
    "find locate discover found search lookup",
    "place put location",
    "link connect connection",
    "split divide partition",
    "join merge combine",
    "copy duplicate",
    "help assist",
    "simple easy",
    "hard difficult",
    "often frequent usual common",
    "rare seldom",
    "many several multiple numerous",
    "person people user human",
    "author writer wrote written write",
    "second sec seconds",
    "millisecond ms",
    "microsecond us",
    "kilobyte kb",
    "megabyte mb",
    "gigabyte gb",
    "half halve",
    "double twice",
    "throw raise thrown",
    "handle process manage",
    "describe explain document",
    "guarantee ensure sure certain",
    "also additional further",
    "speed fast performance",
    "go visit traverse walk",
    "permit allow",
    "small little tiny",
    "enough sufficient suffice",
    "spread distribute",
    "collect gather",
    "number count",
    "empty blank",
    "responsible charge",
    "because reason",
)
COMMON: Final = listed(
    "able according actually add again allow already always another apply approach around "
    "available avoid away back base basis become begin below beside best better big bring build "
    "call can case cause certain change choose come common complete consist contain continue cost "
    "could create decide define depend describe design detail determine different direct done "
    "down due each easy effect either enable end enough ensure entire even every example exist "
    "expect explain fact far feature few final find first follow form found full further general "
    "give go good great handle happen hard have help high hold however idea important include "
    "increase indicate instead introduce involve issue keep kind know large last late later lead "
    "least leave less let level like likely little long look lot main make manage many matter may "
    "meant method might moment move must name near necessary need never new next normal note now "
    "number obtain occur offer often one only order original part particular pass perform person "
    "place plain point possible present problem process produce proper provide purpose put quite "
    "rather reach ready real reason receive reduce rely remain require rest result right role run "
    "same save say second see seem select send separate serve set several shall share should show "
    "side similar simple simply since single small solution something soon sort specific start "
    "state stay step still stop such suit support sure take task tell term thing think through "
    "together too top toward true try turn two type under understand unless until up use useful "
    "usual value various very want way well whether while whole why within work worth write yet "
    "able described explains mentioned passage passages text author article page section "
    "according mainly especially regardless afterwards itself ends called known means meaning "
    "involves serves acts lets makes takes gives gets goes comes puts asks tells wants sees finds "
    "keeps holds sort kinds ways whose around about roughly nearly almost than otherwise merely "
    "whereas although though despite per upon via"
)
NUMBER_WORDS: Final = {
    word: float(value)
    for value, word in enumerate(
        listed(
            "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen "
            "fifteen sixteen seventeen eighteen nineteen twenty"
        )
    )
} | {
    "thirty": 30.0, "forty": 40.0, "fifty": 50.0, "sixty": 60.0, "seventy": 70.0, "eighty": 80.0,
    "ninety": 90.0, "hundred": 100.0, "thousand": 1000.0, "million": 1e6, "billion": 1e9,
    "dozen": 12.0, "twice": 2.0, "double": 2.0, "doubles": 2.0, "doubled": 2.0, "both": 2.0,
    "pair": 2.0, "half": 0.5, "halves": 0.5, "halve": 0.5, "halved": 0.5, "third": 3.0,
    "thirds": 3.0, "triple": 3.0, "quarter": 4.0, "quarters": 4.0, "tenth": 10.0, "once": 1.0,
    "single": 1.0, "tens": 10.0, "fifth": 5.0, "sixth": 6.0,
}  # fmt: skip
NOUNS_TOO: Final = frozenset(listed("half halves third thirds quarter quarters fifth sixth tenth"))
"""Words for numbers that are ordinary words as well: see ``numbers_of``."""
FREE_NUMBERS: Final = frozenset(
    listed(
        "zero one twice double doubles doubled both pair half halves halve halved triple once "
        "single tens"
    )
)
"""Numbers that a true sentence may hold where its passage counts, lists or divides."""
SCALES: Final = {
    "k": 1e3, "thousand": 1e3, "m": 1e6, "million": 1e6, "b": 1e9, "billion": 1e9,
    "trillion": 1e12, "hundred": 100.0,
}  # fmt: skip
