/** The header of providers that take their key as a bearer token; none where they ask for no key. */
export const bearer = (apiKey: string | undefined): readonly string[] =>
  apiKey === undefined ? [] : ['authorization', `Bearer ${apiKey}`];
