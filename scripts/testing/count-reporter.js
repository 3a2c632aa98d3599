// A reporter of node's test runner that shows nothing: it writes down what a lane's runner has counted, and what failed and why, as JSON.

/** What the runner counts, as it names it at its end. */
export const COUNTED = ['tests', 'suites', 'pass', 'fail', 'cancelled', 'skipped', 'todo']

const LINE = new RegExp(`^(${COUNTED.join('|')}) (\\d+)$`)

/** @param {AsyncIterable<{ type: string, data: any }>} events */
export default async function * countReporter (events) {
  const counts = {}
  const failed = []
  /** What each process has said last, by its file: why it ended, where it ended itself. */
  const said = {}
  for await (const { type, data } of events) {
    if (type === 'test:diagnostic' && data.nesting === 0) {
      const [, name, count] = LINE.exec(data.message) ?? []
      if (name !== undefined) counts[name] = Number(count)
    } else if (type === 'test:stderr') {
      said[data.file] = data.message
    } else if (type === 'test:fail' && data.details.error.failureType !== 'subtestsFailed' && data.todo === undefined) {
      failed.push({ name: data.name, file: data.file, error: shortly(data.details.error, said[data.file]) })
    }
  }
  yield JSON.stringify({ counts, failed })
}

/** The first of what an error says, for those who have only the end of the output. */
function shortly ({ cause, message, exitCode }, said) {
  return String((exitCode > 0 ? said : undefined) ?? cause?.message ?? message).split('\n', 8).join('\n').slice(0, 600)
}
