module bench

go 1.21
