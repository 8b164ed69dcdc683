/** The control origin: this page is served by it. Without `/v1`. */
export const controlOrigin = window.location.origin;

/** The confidential origin, which control wrote into the page. Without `/v1`. */
export const confidentialOrigin =
  document.querySelector<HTMLMetaElement>('meta[name="sotto-confidential-origin"]')?.content ?? '';
