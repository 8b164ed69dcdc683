/** Something to copy, in one language or for one tool. */
export interface Snippet {
  readonly id: string;
  readonly name: string;
  /** Whether it shares the last tab with others, instead of having a tab of its own. */
  readonly isOther?: boolean;
  /** A sentence about it: its purpose, and which party sees what. */
  readonly text: string;
  readonly code: string;
}

/** The values that snippets contain. */
export interface SnippetFacts {
  /** Without `/v1`. */
  readonly controlOrigin: string;
  readonly confidentialOrigin: string;
  readonly key: string;
  readonly model: string;
}
