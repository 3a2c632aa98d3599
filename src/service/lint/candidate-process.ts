import { parseCandidate, type Candidate } from '../../registry/diagnose/parse-candidate.ts'
import { goLanguage } from '../../template/go/go-language.ts'
import { handlebarsLanguage } from '../../template/handlebars/handlebars-language.ts'

// The entry of the process in which candidates are parsed: one message in, one out (see candidate-parser.ts).
const languages = [handlebarsLanguage, goLanguage]

process.on('message', (candidate: Candidate) => {
  void parseCandidate(candidate, languages).then(parsed => process.send?.(parsed))
})
process.on('disconnect', () => process.exit())
process.send?.('ready')
