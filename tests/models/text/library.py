"""Fifty sentences on ten subjects, and for each subject a question whose words are mostly others."""

_SHELVES = """
astronomy: What do we know about worlds beyond the Sun?
Jupiter is the largest planet and has a storm that has lasted for centuries.
The rings of Saturn are made of countless pieces of ice and rock.
Astronomers found a planet that orbits a distant star every four days.
A telescope in space sees galaxies whose light left them billions of years ago.
A comet grows a tail when it comes close to the Sun, and a small telescope shows it.

baking: How do I make a loaf rise?
Knead the dough for ten minutes until it is smooth and elastic.
Yeast needs warm water and a little sugar before it starts to foam.
Bake the sourdough in a hot oven until the crust is dark brown.
Let the bread cool on a rack before you cut the first slice.
Rye flour gives a dense loaf, wheat flour a light and airy one.

football: Who won the match last night?
The striker scored twice in the second half and the stadium roared.
The goalkeeper saved a penalty in the last minute of the game.
Our team lost the cup final after extra time.
The referee showed the defender a red card for a late tackle.
Fans celebrated in the streets when their club won the league.

banking: I want to borrow money for a house.
The central bank raised interest rates to slow down inflation.
A mortgage is a loan that is secured by the property itself.
You can open a savings account online within a few minutes.
The bank charges a fee when a customer's account has no money in it.
The bank refused the loan because the borrower had too many debts.

medicine: Which treatment helps against an infection?
The doctor prescribed antibiotics for the patient's pneumonia.
A vaccine trains the immune system to recognize a virus.
Patients with high blood pressure take the medicine that their doctor prescribes.
The surgeon replaced the worn hip joint with an artificial one.
Fever and a sore throat are common symptoms of influenza.

programming: My script crashes with an exception.
The function raises an error when the list is empty.
A compiler translates source code into machine instructions.
Python throws an exception when a key is missing in a dictionary.
The developer fixed the bug and wrote a unit test for it.
Git keeps the history of every change to the code base.

weather: Will I need an umbrella tomorrow?
Heavy rain and strong winds are expected along the coast tonight.
The forecast promises sunshine and mild temperatures for the weekend.
A thunderstorm knocked down trees and flooded the streets.
Snow fell all night and the roads were icy in the morning.
The drought ended when the clouds finally brought some showers.

animals: Tell me about pets and how they behave.
The kitten purrs when somebody strokes it behind the ears.
Dogs wag their tails when they are happy to see their owner.
A parrot can learn to imitate human words.
The rabbit hid in its hutch when the cat came near.
Puppies chew on shoes while their teeth are growing.

music: Which instruments does an orchestra need?
The violinist tuned her instrument before the concert began.
Beethoven wrote nine symphonies, the last of them when he was deaf.
The drummer keeps the rhythm while the guitarist plays a solo.
She practices scales on the piano for an hour every day.
The orchestra played a symphony and the choir sang with it.

travel: How do I get to the airport?
The flight to Lisbon was delayed by two hours.
Passengers must show their passport and boarding pass at the gate.
We booked a hotel room with a view of the harbor.
The passengers missed their flight because the train to the airport was late.
A taxi from the terminal to the city center takes half an hour.
"""
"""Of each subject its name with its question, and its sentences."""

_BLOCKS = [block.splitlines() for block in _SHELVES.strip().split("\n\n")]
SUBJECTS = [first.partition(": ")[0] for first, *sentences in _BLOCKS for _ in sentences]
SENTENCES = [sentence for _, *sentences in _BLOCKS for sentence in sentences]
QUESTIONS = [first.partition(": ")[2] for first, *_ in _BLOCKS]
