/** The loop of a child process that `createParserProcess` starts: it answers one message after the other, until its parent has ended. */
export function answerQuestions<Question, Answer> (answer: (question: Question) => Answer | Promise<Answer>): void {
  process.on('message', async (question: Question) => {
    process.send?.(await answer(question))
  })
  process.on('disconnect', () => process.exit())
  process.send?.('ready')
}
