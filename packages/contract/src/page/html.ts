/** Escapes text for HTML elements and quoted attributes. */
export const escaped = (text: string): string =>
  text
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;')
    .replaceAll("'", '&#39;');

/** Renders a description: backquotes become code, blank lines become paragraphs. */
export const prose = (text: string): string =>
  text
    .split('\n\n')
    .map((paragraph) => `<p>${inline(paragraph)}</p>`)
    .join('');

/** The same within a line. */
export const inline = (text: string): string => escaped(text).replace(/`([^`]+)`/g, '<code>$1</code>');

/** A block that scrolls sideways, also by keyboard. */
export const block = (text: string, label: string): string =>
  `<pre tabindex="0" role="region" aria-label="${escaped(label)}">${escaped(text)}</pre>`;
