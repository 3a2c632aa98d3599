import { answerQuestions } from '../../runtime/answer-questions.ts'
import { describeMethod, type MethodDescription, type MethodQuestion } from './describe-method.ts'

// The entry of the child process in which descriptions of services are parsed (see grpc-method.ts).

/** What the child process answers about a gRPC method: its description, or the reason why there is none. */
export type MethodAnswer = { readonly described: MethodDescription } | { readonly problem: string }

answerQuestions((question: MethodQuestion): MethodAnswer => {
  try {
    return { described: describeMethod(question) }
  } catch (error) {
    return { problem: (error as Error).message.slice(0, 500) }
  }
})
