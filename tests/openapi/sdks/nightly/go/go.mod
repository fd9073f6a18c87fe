module usage

go 1.23

require example.org/cenote/cenote v0.0.0

replace example.org/cenote/cenote => ./cenote
