/** Tests that a run in CI may skip. Any other test that it skips fails the run. */
export const allowedSkips: readonly { readonly file: string; readonly why: string }[] = [
  ...['built-images', 'systemd-machine', 'vm-image'].map((name) => ({
    file: `test/operate/deploy/${name}.test.ts`,
    why: 'installs a Debian as root, which takes ten minutes; SOTTO_TEST_IMAGES=1 asks for it',
  })),
  ...['agents', 'scenes', 'skill'].map((name) => ({
    file: `test/contract/agents/${name}.test.ts`,
    why: 'an agent that its registry does not give cannot be installed, and neither npm nor Debian has Goose',
  })),
  {
    file: 'test/operate/start/pages.test.ts',
    why: 'a Python without its module for environments cannot install an SDK',
  },
  {
    file: 'test/contract/sdks/other-languages.test.ts',
    why: 'a Python or a Go without its registry, or of a version that a library excludes, cannot install the libraries',
  },
  { file: 'test/privacy/canary/crashes.test.ts', why: 'a container may forbid core dumps' },
];
