"""Short articles whose later sentences name their subject by a pronoun alone, and questions that name it in full.

Subjects of a kind have sentences about the same things, so that words alone do not tell them apart.
"""

_TEXTS = """
Lake Bled lies in the Julian Alps of Slovenia, beneath a castle on a cliff.
It is thirty metres deep at its deepest place.
Its water is warm enough for swimming from June to September.
On its island stands a church whose bell visitors ring for luck.
The glacier that carved it melted fourteen thousand years ago.

Lake Ohrid lies between North Macedonia and Albania and is one of the oldest of Europe.
It is almost three hundred metres deep.
Its trout is found nowhere else in the world.
Monasteries with frescoes stand along its eastern shore.
Springs that come through the mountain feed it with clear water.

Lake Baikal in Siberia holds a fifth of the fresh water on the surface of the Earth.
It is more than sixteen hundred metres deep.
Its seal is the only one that lives in fresh water alone.
In winter its ice is so thick that lorries drive across it.
More than three hundred rivers flow into it, and a single one leaves it.

Marie Curie was born in Warsaw and went to Paris to study physics.
She shared her first Nobel Prize with her husband.
During the war she drove cars with X-ray machines to the front.
Her notebooks are still kept in boxes lined with lead.
She died of an illness that radiation had caused.

Lise Meitner was born in Vienna and worked in Berlin with Otto Hahn.
She fled to Sweden with ten marks in her purse.
On a walk in the snow she understood that a nucleus can split.
The prize for it went to her colleague alone.
An element of the periodic table has her name today.

Ada Lovelace, the daughter of a poet, learned mathematics from private teachers.
She wrote notes on a machine that was never built.
They hold what is often called the first program.
She thought that such an engine might compose music one day.
She was buried beside the father whom she never knew.

The common swift nests under the roofs of old towns all over Europe.
It sleeps on the wing and may not land for ten months.
Its young eat balls of insects that the parents carry in their throats.
It spends the winter south of the Sahara.
Modern buildings without gaps leave it no place to breed.

The Arctic tern is a slender white bird with a black cap and a red bill.
It sees more daylight than any other creature.
Each year it flies from one pole to the other and back.
It dives at the heads of people who come near its eggs.
It lays them on bare gravel close to the sea.

The emperor penguin is the tallest of all penguins and breeds in the Antarctic winter.
The father keeps the egg on his feet for two months without food.
It dives deeper than five hundred metres for fish.
In storms they stand close together and take turns at the edge.
Its chicks need sea ice that does not break before summer.

The violin took its form in the workshops of northern Italy in the sixteenth century.
Its four strings are tuned in fifths.
The best of them were made in Cremona by Stradivari.
The bow that draws the sound is strung with the hair of a horse.
A small post of wood inside carries the vibrations to its back.

The hurdy-gurdy was played by blind beggars and later by ladies of the French court.
A wheel with resin is turned by a crank and rubs its strings.
Keys press small pieces of wood against them to change the pitch.
Some strings sound the same note all the time.
A loose bridge makes it buzz in the rhythm of the dance.

The theremin was invented in Russia in 1920 and is played without being touched.
Two antennas sense where the hands are.
One hand sets the pitch and the other the loudness.
Its wailing tone was used in films about visitors from space.
Lenin took lessons on it after a demonstration in the Kremlin.
"""
ARTICLES = [text.replace("\n", "\n ").splitlines() for text in _TEXTS.strip().split("\n\n")]

QUESTIONS: tuple[tuple[str, int, int], ...] = (
    ("How deep is Lake Bled?", 0, 1),
    ("Can I swim in Lake Bled in summer?", 0, 2),
    ("What is on the island of Lake Bled?", 0, 3),
    ("How did Lake Bled come into being?", 0, 4),
    ("How deep is Lake Ohrid?", 1, 1),
    ("Which animal lives only in Lake Ohrid?", 1, 2),
    ("What old buildings are there on the shore of Lake Ohrid?", 1, 3),
    ("Where does the water of Lake Ohrid come from?", 1, 4),
    ("How deep is Lake Baikal?", 2, 1),
    ("Which animal lives only in Lake Baikal?", 2, 2),
    ("Can one drive over Lake Baikal in winter?", 2, 3),
    ("Which rivers flow into Lake Baikal?", 2, 4),
    ("With whom did Marie Curie share a prize?", 3, 1),
    ("What did Marie Curie do in the war?", 3, 2),
    ("Where are Marie Curie's papers kept?", 3, 3),
    ("What did Marie Curie die of?", 3, 4),
    ("How did Lise Meitner escape?", 4, 1),
    ("What did Lise Meitner discover?", 4, 2),
    ("Did Lise Meitner get the Nobel Prize?", 4, 3),
    ("What is called after Lise Meitner?", 4, 4),
    ("What did Ada Lovelace write about?", 5, 1),
    ("What did Ada Lovelace think machines could do?", 5, 3),
    ("Where is Ada Lovelace's grave?", 5, 4),
    ("How does the common swift sleep?", 6, 1),
    ("What do young swifts eat?", 6, 2),
    ("Where is the swift in winter?", 6, 3),
    ("Why do swifts become rare in towns?", 6, 4),
    ("How far does the Arctic tern migrate?", 7, 2),
    ("How does the Arctic tern defend its nest?", 7, 3),
    ("Where does the Arctic tern lay its eggs?", 7, 4),
    ("Who broods the egg of the emperor penguin?", 8, 1),
    ("How deep do emperor penguins dive?", 8, 2),
    ("How do emperor penguins keep warm in a storm?", 8, 3),
    ("How are the strings of a violin tuned?", 9, 1),
    ("Who made the best violins?", 9, 2),
    ("What is a violin's bow made of?", 9, 3),
    ("What is inside a violin?", 9, 4),
    ("How does a hurdy-gurdy make its sound?", 10, 1),
    ("How is the pitch of a hurdy-gurdy changed?", 10, 2),
    ("Why does a hurdy-gurdy buzz?", 10, 4),
    ("How does a theremin know where the player's hands are?", 11, 1),
    ("What do the two hands do at a theremin?", 11, 2),
    ("In which films was the theremin used?", 11, 3),
    ("Which politician learned to play the theremin?", 11, 4),
)
"""Each with its article and the sentence that answers it."""
