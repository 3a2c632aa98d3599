/** What a search gives: an answer and the chunks that it rests on, or why there is none. */
export type Found =
  | { readonly answer: string, readonly chunk_title_list: readonly string[], readonly chunk_texts: readonly string[] }
  | { readonly error: string }

/** The knowledge base of the example; a real service would have an index of vectors, and ask a model. */
const DOCUMENTS = [
  { title: 'Отпуск', text: 'Заявление на отпуск подают за две недели. Отпуск длится 28 дней в году.' },
  { title: 'Больничный', text: 'О болезни сообщают руководителю в первый день. Больничный лист оформляет врач.' },
  { title: 'Командировки', text: 'Командировку согласуют за пять дней. Суточные выплачивают до отъезда.' },
  { title: 'Пропуск', text: 'Пропуск в офис выдаёт охрана по паспорту. Гостя регистрируют за день.' }
] as const

/** Answers a question from the documents that share the most words with it. A question that names an error gets one. */
export function search (question: string, topK: number): Found {
  if (/ошибка/i.test(question)) return { error: 'индекс перестраивается' }
  const asked = stemsOf(question)
  const found = DOCUMENTS
    .map(({ title, text }) => ({ title, text, hits: [...stemsOf(`${title} ${text}`)].filter(stem => asked.has(stem)).length }))
    .filter(({ hits }) => hits > 0)
    .sort((one, other) => other.hits - one.hits)
    .slice(0, topK)
  return { answer: found[0]?.text ?? 'В базе знаний ответа нет.', chunk_title_list: found.map(({ title }) => title), chunk_texts: found.map(({ text }) => text) }
}

/** The beginnings of the longer words: what is left of a Russian word in all its cases. */
function stemsOf (text: string): Set<string> {
  return new Set(Array.from(text.toLowerCase().matchAll(/\p{L}{5,}/gu), ([word]) => word.slice(0, 5)))
}
