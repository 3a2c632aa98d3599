import { lintBusy } from '../../base/errors.ts'
import { type Candidate, type ParsedCandidate, tooComplex } from '../../registry/lint/parse-candidate.ts'
import { createParserProcess } from '../../runtime/parser-process.ts'

/** The longest time that one candidate (a prompt, tool or other entry to be checked) is parsed, in ms. */
const PARSE_MILLISECONDS = 5000

const MAX_WAITING = 8

export interface CandidateParser {
  /** Parses a candidate: an entry that is to be checked. @throws LINT_BUSY when too many candidates wait already */
  parse (candidate: Candidate): Promise<ParsedCandidate>
  close (): Promise<void>
}

/**
 * Makes a parser of candidates (entries to be checked). Candidates come from strangers, and parsing them may take forever, so it happens in
 * a process of its own, which can be killed. It parses one at a time.
 * @param timeout for one candidate, in ms
 */
export function createCandidateParser (timeout = PARSE_MILLISECONDS): CandidateParser {
  const parser = createParserProcess<Candidate, ParsedCandidate>({ entry: 'candidate-process', beside: import.meta.url, timeout })
  let isClosed = false
  return {
    async parse (candidate) {
      if (isClosed) throw lintBusy(0)
      if (parser.waiting() >= MAX_WAITING) throw lintBusy(MAX_WAITING)
      const parsed = await parser.ask(candidate)
      if (parsed === undefined && isClosed) throw lintBusy(0)
      return parsed ?? { diagnostics: [tooComplex('it takes too much time or memory to be parsed')], prompts: [] }
    },
    async close () {
      isClosed = true
      await parser.close()
    }
  }
}
