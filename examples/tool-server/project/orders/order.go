package orders

import "example.com/payments/ledger"

// Order is what a customer owes.
type Order struct {
	Customer string
	Cents    int64
}

// CreateOrder books an order.
func CreateOrder(book *ledger.Book, customer string, cents int64) Order {
	book.Record(customer, cents)
	return Order{customer, cents}
}
