import { parseCandidate, type Candidate } from '../../registry/parse-candidate.ts'
import { isDefinitionKind } from '../../registry/kinds/entry-kind.ts'
import { KINDS } from '../../registry/kind-table.ts'
import { answerQuestions } from '../../runtime/answer-questions.ts'
import { goLanguage } from '../../template/go/go-language.ts'
import { handlebarsLanguage } from '../../template/handlebars/handlebars-language.ts'

const context = { languages: [handlebarsLanguage, goLanguage], definitionKinds: KINDS.filter(isDefinitionKind) }

// The first parse compiles the entry schemas, which takes long; done before ready, so no candidate's time limit includes it.
await parseCandidate({ kind: 'templates', id: 'first', text: '{"userPrompt":"{{variables.a}}","parameters":[{"name":"a","type":"string"}]}' }, context)

answerQuestions((candidate: Candidate) => parseCandidate(candidate, context))
