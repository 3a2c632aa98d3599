/** The price of some pieces: ten of them and more are a tenth cheaper. */
export function priceOf (pieces, each) {
  const discount = pieces > 10 ? 0.1 : 0
  return pieces * each * (1 - discount)
}
