import { Revealed } from './reveal.tsx'
import { lazyPart } from './lazy-part.tsx'

/** Where the code for it cannot be loaded, the text stays plain. */
const AnswerText = lazyPart(async () => await import('./answer-text.tsx').then(({ AnswerText }) => AnswerText, () => Plain))

/** What a model has written, as Markdown or a tree of JSON; as plain text until the code for that is there. */
export function Answer ({ text }: { readonly text: string }) {
  return <><AnswerText text={text} /></>
}

function Plain ({ text }: { readonly text: string }) {
  return <p className='pre'><Revealed text={text} /></p>
}
