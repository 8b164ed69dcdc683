export declare function bundle(options: {
  readonly root: string;
  readonly entries: Readonly<Record<string, string>>;
  readonly out: string;
}): Promise<string[]>;
