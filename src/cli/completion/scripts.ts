/** Completion scripts, made from the table of commands. They contain all values, so that completing starts no process. */
import type { Flag, Node } from "./tree.ts";

export const SHELLS = ["bash", "zsh", "fish"] as const;
export type Shell = (typeof SHELLS)[number];

export function completionScript(shell: Shell, nodes: readonly Node[]): string {
  switch (shell) {
    case "bash":
      return bashScript(nodes);
    case "zsh":
      return zshScript(nodes);
    case "fish":
      return fishScript(nodes);
  }
}

function bashScript(nodes: readonly Node[]): string {
  return `# Completion for bash: source <(millrace completion bash)
_millrace() {
  local line=\${COMP_LINE:0:COMP_POINT} chosen= current= before= choices= word
  local -a typed
  read -ra typed <<<"$line"
  [[ $line == *[[:space:]] ]] && typed+=("")
  current=\${typed[\${#typed[@]}-1]}
  before=\${typed[\${#typed[@]}-2]}
  for word in "\${typed[@]:1:\${#typed[@]}-2}"; do
    case "$chosen $word" in
${pathCases(nodes)}
    esac
  done
  case "$chosen $before" in
${valueCases(nodes, (flag) => (flag.takesFile ? `COMPREPLY=($(compgen -f -- "$current")); return` : `choices=${quoted(flag.values.join(" "))}`))}
    *)
      case "$chosen" in
${nodes.map((node) => `        ${quoted(node.path.join(" "))}) choices=${quoted(wordsAfter(node).join(" "))} ;;`).join("\n")}
      esac ;;
  esac
  COMPREPLY=($(compgen -W "$choices" -- "$current"))
  # Bash splits words at a colon, so the part before it is already on the line.
  if [[ $current == *:* && $COMP_WORDBREAKS == *:* ]]; then
    local i
    for ((i = 0; i < \${#COMPREPLY[@]}; i++)); do COMPREPLY[i]=\${COMPREPLY[i]#"\${current%"\${current##*:}"}"}; done
  fi
}
complete -F _millrace millrace`;
}

function zshScript(nodes: readonly Node[]): string {
  const described = (node: Node): string =>
    [...node.commands, ...node.flags].map(({ word, about }) => quoted(`${word}:${about}`)).join(" ");
  return `#compdef millrace
# Completion for zsh: source <(millrace completion zsh)
_millrace() {
  local chosen= word
  local -a choices
  for word in "\${(@)words[2,CURRENT-1]}"; do
    case "$chosen $word" in
${pathCases(nodes)}
    esac
  done
  case "$chosen \${words[CURRENT-1]}" in
${valueCases(nodes, (flag) => (flag.takesFile ? "_files; return" : `compadd -- ${flag.values.map(quoted).join(" ")}; return`))}
  esac
  case "$chosen" in
${nodes.map((node) => `    ${quoted(node.path.join(" "))}) choices=(${described(node)})${node.values.length === 0 ? "" : `; compadd -- ${node.values.join(" ")}`} ;;`).join("\n")}
  esac
  _describe millrace choices
}
if [ "$funcstack[1]" = _millrace ]; then _millrace "$@"; else compdef _millrace millrace; fi`;
}

function fishScript(nodes: readonly Node[]): string {
  const lines = nodes.flatMap((node) => {
    const seen = node.path.map((word) => `__fish_seen_subcommand_from ${word}`).join("; and ");
    const isOpen = node.path.length === 0 ? "__fish_use_subcommand" : notYet(seen, node);
    const commands = node.commands.map(
      ({ word, about }) => `complete -c millrace -f -n ${quotedForFish(isOpen)} -a ${word} -d ${quotedForFish(about)}`,
    );
    const flags = node.flags.map((flag) => fishFlag(flag, node.path.length === 0 ? "__fish_use_subcommand" : seen));
    const values =
      node.values.length === 0 ? [] : [`complete -c millrace -f -n ${quotedForFish(seen)} -a ${quotedForFish(node.values.join(" "))}`];
    return [...commands, ...flags, ...values];
  });
  return ["# Completion for fish: millrace completion fish | source", "complete -c millrace -f", ...lines].join("\n");
}

function notYet(seen: string, node: Node): string {
  return node.commands.length === 0
    ? seen
    : `${seen}; and not __fish_seen_subcommand_from ${node.commands.map(({ word }) => word).join(" ")}`;
}

function fishFlag({ word, about, takesValue, takesFile, values }: Flag, condition: string): string {
  const value = takesFile ? " -r -F" : takesValue ? ` -x${values.length === 0 ? "" : ` -a ${quotedForFish(values.join(" "))}`}` : "";
  return `complete -c millrace -n ${quotedForFish(condition)} -l ${word.slice(2)}${value} -d ${quotedForFish(about)}`;
}

/** `chosen` grows word by word, so that an argument that looks like a command changes nothing. */
function pathCases(nodes: readonly Node[]): string {
  return nodes
    .filter(({ path }) => path.length > 0)
    .map(({ path }) => `      ${quoted(`${path.slice(0, -1).join(" ")} ${path.at(-1)}`)}) chosen=${quoted(path.join(" "))} ;;`)
    .join("\n");
}

/** After an option that takes a value, offer only its values. */
function valueCases(nodes: readonly Node[], act: (flag: Flag) => string): string {
  return nodes
    .flatMap(({ path, flags }) =>
      flags
        .filter((flag) => flag.takesFile || flag.values.length > 0)
        .map((flag) => `    ${quoted(`${path.join(" ")} ${flag.word}`)}) ${act(flag)} ;;`),
    )
    .join("\n");
}

function wordsAfter({ commands, flags, values }: Node): string[] {
  return [...commands.map(({ word }) => word), ...values, ...flags.map(({ word }) => word)];
}

function quoted(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}

function quotedForFish(text: string): string {
  return `'${text.replaceAll("\\", "\\\\").replaceAll("'", "\\'")}'`;
}
