/** What the process that `createParserProcess` starts does: one message in, one out, until nobody is there to ask. */
export function answerQuestions<Question, Answer> (answer: (question: Question) => Answer | Promise<Answer>): void {
  process.on('message', async (question: Question) => {
    process.send?.(await answer(question))
  })
  process.on('disconnect', () => process.exit())
  process.send?.('ready')
}
