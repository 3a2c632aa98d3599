package main

import (
	"example.com/payments/ledger"
	"example.com/payments/orders"
	"github.com/gin-gonic/gin"
)

func main() {
	book := ledger.NewBook()
	router := gin.Default()
	router.POST("/orders", func(c *gin.Context) {
		c.JSON(201, orders.CreateOrder(book, c.PostForm("customer"), 100))
	})
	router.Run(":8000")
}
