/** The loop of a process that `createParserProcess` starts: one message in, one message out, until the parent has gone. */
export function answerQuestions<Question, Answer> (answer: (question: Question) => Answer | Promise<Answer>): void {
  process.on('message', async (question: Question) => {
    process.send?.(await answer(question))
  })
  process.on('disconnect', () => process.exit())
  process.send?.('ready')
}
