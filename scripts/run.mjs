// Every npm script begins here. This file is for any Node that knows modules, so that one that is too old ends with a sentence
// and not with a stack trace.

const oldest = 18;

if (Number.parseInt(process.versions.node, 10) >= oldest) {
  import('./commands.mjs');
} else {
  console.error(
    `sotto: this is Node ${process.versions.node}; it needs Node ${oldest} or later. Install one from https://nodejs.org.`,
  );
  process.exitCode = 1;
}
