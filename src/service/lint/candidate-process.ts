import { parseCandidate, type Candidate } from '../../registry/lint/parse-candidate.ts'
import { isDefinitionKind } from '../../registry/kinds/kind.ts'
import { KINDS } from '../../registry/kind-table.ts'
import { answerQuestions } from '../../runtime/answer-questions.ts'
import { goLanguage } from '../../template/go/go-language.ts'
import { handlebarsLanguage } from '../../template/handlebars/handlebars-language.ts'

// The process that parses candidates (prompts, tools and other entries to be checked) starts with this file; see candidate-parser.ts.
const context = { languages: [handlebarsLanguage, goLanguage], definitionKinds: KINDS.filter(isDefinitionKind) }

answerQuestions((candidate: Candidate) => parseCandidate(candidate, context))
