package ledger

// Book holds what was booked.
type Book struct{ entries []Entry }

// Entry is one booking, in cents.
type Entry struct {
	Account string
	Cents   int64
}

func NewBook() *Book { return &Book{} }

func (b *Book) Record(account string, cents int64) {
	b.entries = append(b.entries, Entry{account, cents})
}
