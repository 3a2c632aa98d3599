/** Why a function refuses its arguments; the caller adds which call it was. */
export class CallError extends Error {}
