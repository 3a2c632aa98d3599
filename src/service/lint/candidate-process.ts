import { parseCandidate, type Candidate } from '../../registry/diagnose/parse-candidate.ts'
import { answerQuestions } from '../../runtime/answer-questions.ts'
import { goLanguage } from '../../template/go/go-language.ts'
import { handlebarsLanguage } from '../../template/handlebars/handlebars-language.ts'

// The entry of the process in which candidates are parsed (see candidate-parser.ts).
const languages = [handlebarsLanguage, goLanguage]

answerQuestions((candidate: Candidate) => parseCandidate(candidate, languages))
