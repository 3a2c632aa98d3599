import { parseCandidate, type Candidate } from '../../registry/parse-candidate.ts'
import { isDefinitionKind } from '../../registry/kinds/entry-kind.ts'
import { KINDS } from '../../registry/kind-table.ts'
import { answerQuestions } from '../../runtime/answer-questions.ts'
import { goLanguage } from '../../template/go/go-language.ts'
import { handlebarsLanguage } from '../../template/handlebars/handlebars-language.ts'

// The process that parses candidates (prompts, tools and other entries to be checked) starts with this file; see candidate-parser.ts.
const context = { languages: [handlebarsLanguage, goLanguage], definitionKinds: KINDS.filter(isDefinitionKind) }

// The first parse of a process compiles the schemas of entries, which takes longer than parsing most candidates. Here it happens before the process
// says that it is ready, so that the time limit of no candidate includes it.
await parseCandidate({ kind: 'templates', id: 'first', text: '{"userPrompt":"{{variables.a}}","parameters":[{"name":"a","type":"string"}]}' }, context)

answerQuestions((candidate: Candidate) => parseCandidate(candidate, context))
