#!/bin/sh
# Looks for a Python and a Java that this project runs on.
#
# Standard output: the interpreter to make .venv with. If something is missing: nothing there, one line on standard
# error that says what to install and how, and exit code 1. PYTHON and JAVA_HOME, where set, name the only ones to try.
# Needs no command beside the shell's own, as a fresh machine may have none.

OLDEST_PYTHON=11 # minor versions of Python 3
NEWEST_PYTHON=14 # the newest that every package in requirements.lock has wheels for
OLDEST_JAVA=17

INSTALL_PYTHON='install it with "sudo apt install python3 python3-venv" (Debian 12 or newer) or "brew install python@3.13" (macOS)'
INSTALL_JAVA='install a JDK with "sudo apt install default-jdk-headless" (Debian 12 or newer) or "brew install --cask temurin@21" (macOS)'

# Prints the version ("3.11"), and in a second line the interpreter behind the one that runs this, as an activated
# .venv must not be asked to replace itself. The second line stays out where environments cannot be made: Debian splits
# ensurepip off into a package of its own.
ASK_PYTHON='
import sys
print("%d.%d" % sys.version_info[:2])
import ensurepip, venv
print(sys.executable if sys.prefix == sys.base_prefix else sys._base_executable)
'

complain() {
    echo "$1" >&2
    exit 1
}

is_supported_python() {
    case "$1" in 3.[0-9] | 3.[0-9][0-9]) ;; *) return 1 ;; esac
    [ "${1#3.}" -ge "$OLDEST_PYTHON" ] && [ "${1#3.}" -le "$NEWEST_PYTHON" ]
}

# Prints the first interpreter among the arguments that will do, or complains about the one that comes nearest.
find_python() {
    unfit="" # runs, but is too old or too new
    bare=""  # has a right version, but cannot make environments
    for candidate in "$@"; do
        answer=$("$candidate" -c "$ASK_PYTHON" 2>/dev/null) # empty for the stubs that Apple and pyenv put in the path
        version=${answer%%
*}
        interpreter=${answer#*
}
        if [ -z "$answer" ]; then
            continue
        elif ! is_supported_python "$version"; then
            unfit=${unfit:-"$candidate is ${version#Python }"}
        elif [ ! -x "$interpreter" ]; then
            bare=${bare:-$version}
        else
            echo "$interpreter"
            return
        fi
    done
    if [ -n "$bare" ]; then
        complain "Python $bare cannot make environments: install the rest of it with \"sudo apt install python$bare-venv\" (Debian) or \"brew reinstall python@$bare\" (macOS)"
    fi
    complain "Python 3.$OLDEST_PYTHON to 3.$NEWEST_PYTHON is needed, but ${unfit:-$1 is missing}: $INSTALL_PYTHON"
}

# Prints the feature number of java $1 ("17"; "8" for 1.8.0), or nothing if it does not run, as macOS's stub.
java_version() {
    text=$("$1" -version 2>&1) || return
    case "$text" in *'version "'*) ;; *) return ;; esac
    text=${text#*version \"}
    text=${text#1.}
    echo "${text%%[!0-9]*}"
}

# Whether java $1 comes with the compiler, that is, whether it is a JDK.
has_compiler() {
    case "$("$1" --list-modules 2>/dev/null)" in *jdk.compiler*) return 0 ;; *) return 1 ;; esac
}

check_java() {
    java=${JAVA_HOME:+$JAVA_HOME/bin/}java
    version=$(java_version "$java")
    if [ -z "$version" ]; then
        fault="is missing or does not run"
    elif [ "$version" -lt "$OLDEST_JAVA" ]; then
        fault="is Java $version"
    elif ! has_compiler "$java"; then
        fault="is a runtime without the compiler"
    else
        return
    fi
    complain "Java $OLDEST_JAVA or newer is needed, but $java $fault: $INSTALL_JAVA${JAVA_HOME:+, then correct or unset JAVA_HOME}"
}

if [ -n "$PYTHON" ]; then set -- "$PYTHON"; else set -- python3 python3.14 python3.13 python3.12 python3.11; fi
python=$(find_python "$@") || exit 1
check_java
echo "$python"
