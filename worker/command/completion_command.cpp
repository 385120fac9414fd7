#include <cstdio>

#include "worker/command/command.hpp"

namespace backfill::worker {

namespace {

using Apps = std::vector<const CLI::App *>;

Apps subcommands_of(const CLI::App &app) {
	return app.get_subcommands([](const CLI::App *) { return true; });
}

std::vector<std::string> options_of(const CLI::App &app) {
	std::vector<std::string> names;
	for (const CLI::Option *const option : app.get_options())
		for (const std::string &name : option->get_lnames())
			names.push_back("--" + name);
	return names;
}

std::string joined(const std::vector<std::string> &words) {
	std::string text;
	for (const std::string &word : words)
		text.append(text.empty() ? "" : " ").append(word);
	return text;
}

// "pg_backfill outbox show" and what may follow it.
std::string bash_cases(const CLI::App &app, const CLI::App &root, const std::string &path) {
	std::vector<std::string> words;
	for (const CLI::App *const sub : subcommands_of(app))
		words.push_back(sub->get_name());
	for (const CLI::App *const from : {&app, &root})
		for (const std::string &option : options_of(*from))
			if (std::ranges::find(words, option) == words.end())
				words.push_back(option);
	std::string text = "\t\"" + path + "\") words=\"" + joined(words) + "\" ;;\n";
	for (const CLI::App *const sub : subcommands_of(app))
		text += bash_cases(*sub, root, path + " " + sub->get_name());
	return text;
}

std::string path_words(const CLI::App &app) {
	std::string text;
	for (const CLI::App *const sub : subcommands_of(app))
		text += " " + sub->get_name() + path_words(*sub);
	return text;
}

// Words that are no subcommand (a pipeline's name, an option's value) do not lengthen the path. File names where a word
// has no other completion.
std::string bash(const CLI::App &root) {
	return "_pg_backfill() {\n"
	       "\tlocal path=pg_backfill words= word\n"
	       "\tfor word in \"${COMP_WORDS[@]:1:COMP_CWORD-1}\"; do\n"
	       "\t\tcase \" " + path_words(root) + " \" in *\" $word \"*) path=\"$path $word\" ;; esac\n"
	       "\tdone\n"
	       "\tcase \"$path\" in\n" + bash_cases(root, root, "pg_backfill") + "\tesac\n"
	       "\tmapfile -t COMPREPLY < <(compgen -W \"$words\" -- \"${COMP_WORDS[COMP_CWORD]}\")\n"
	       "}\n"
	       "complete -o default -F _pg_backfill pg_backfill\n";
}

std::string fish_quoted(const std::string &text) {
	std::string quoted = "'";
	for (const char c : text)
		quoted.append(c == '\'' || c == '\\' ? "\\" : "").append(1, c);
	return quoted + "'";
}

std::string fish_lines(const CLI::App &app, const std::string &condition) {
	std::string text;
	for (const CLI::App *const sub : subcommands_of(app)) {
		text += "complete -c pg_backfill -n " + fish_quoted(condition) + " -a " + sub->get_name() + " -d " +
		        fish_quoted(sub->get_description()) + "\n" + fish_lines(*sub, "__fish_seen_subcommand_from " + sub->get_name());
	}
	const std::string scope = app.get_parent() == nullptr ? "" : " -n " + fish_quoted(condition);
	for (const CLI::Option *const option : app.get_options())
		for (const std::string &name : option->get_lnames())
			text += "complete -c pg_backfill" + scope + " -l " + name + " -d " + fish_quoted(option->get_description()) + "\n";
	return text;
}

ExitCode print_completion(const CLI::App &root, const std::string &shell) {
	std::string text;
	if (shell == "fish")
		text = fish_lines(root, "__fish_use_subcommand");
	else
		text = (shell == "zsh" ? "autoload -U +X bashcompinit && bashcompinit\n" : "") + bash(root);
	std::fputs(text.c_str(), stdout);
	return ExitCode::done;
}

} // namespace

void add_completion(CLI::App &app, Invocation &invocation) {
	CLI::App *const command = app.add_subcommand("completion", "Print a shell's completion script");
	const auto shell = std::make_shared<std::string>();
	command->add_option("shell", *shell, "bash, zsh or fish")->required()->check(CLI::IsMember({"bash", "zsh", "fish"}));
	command->callback([&app, &invocation, shell] { invocation.action = [&app, shell] { return print_completion(app, *shell); }; });
	command->footer("Examples:\n  source <(pg_backfill completion bash)\n"
	                "  pg_backfill completion fish > ~/.config/fish/completions/pg_backfill.fish");
}

} // namespace backfill::worker
