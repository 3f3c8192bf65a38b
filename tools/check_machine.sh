#!/bin/sh
# Finds a Python and a JDK that the project supports.
#
# Prints the interpreter for .venv on standard output. If Python or Java is missing, it prints one line on standard
# error with the command to install it, and exits with code 1. If PYTHON or JAVA_HOME is set, only that one is tried.
# It uses shell built-ins only, because a fresh machine may have no other commands.

OLDEST_PYTHON=11 # minor versions of Python 3
NEWEST_PYTHON=14 # the newest that every package in requirements.lock has wheels for
OLDEST_JAVA=17

INSTALL_PYTHON='install it with "sudo apt install python3 python3-venv" (Debian 12 or newer) or "brew install python@3.13" (macOS)'
INSTALL_JAVA='install a JDK with "sudo apt install default-jdk-headless" (Debian 12 or newer) or "brew install --cask temurin@21" (macOS)'

# Prints the version ("3.11"), then the base interpreter, because an activated .venv cannot replace itself. The second
# line is missing if the interpreter cannot create environments: on Debian, ensurepip is in a separate package.
ASK_PYTHON='
import sys
print("%d.%d" % sys.version_info[:2])
import ensurepip, venv
print(sys.executable if sys.prefix == sys.base_prefix else sys._base_executable)
'

fail() {
    echo "$1" >&2
    exit 1
}

is_supported_python() {
    case "$1" in 3.[0-9] | 3.[0-9][0-9]) ;; *) return 1 ;; esac
    [ "${1#3.}" -ge "$OLDEST_PYTHON" ] && [ "${1#3.}" -le "$NEWEST_PYTHON" ]
}

# Prints the first supported interpreter among the arguments; otherwise fails with the reason for the best candidate.
find_python() {
    unfit="" # runs, but is too old or too new
    bare=""  # has a supported version, but cannot create environments
    for candidate in "$@"; do
        answer=$("$candidate" -c "$ASK_PYTHON" 2>/dev/null) # empty for the stubs that Apple and pyenv install
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
        fail "Python $bare cannot create virtual environments: install the missing packages with \"sudo apt install python$bare-venv\" (Debian) or \"brew reinstall python@$bare\" (macOS)"
    fi
    fail "Python 3.$OLDEST_PYTHON to 3.$NEWEST_PYTHON is needed, but ${unfit:-$1 is missing}: $INSTALL_PYTHON"
}

# Prints the feature version of java $1 ("17"; "8" for 1.8.0); nothing if it does not run, like the stub of macOS.
java_version() {
    text=$("$1" -version 2>&1) || return
    case "$text" in *'version "'*) ;; *) return ;; esac
    text=${text#*version \"}
    text=${text#1.}
    echo "${text%%[!0-9]*}"
}

# Returns whether java $1 includes the compiler, that is, whether it is a JDK.
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
    fail "Java $OLDEST_JAVA or newer is needed, but $java $fault: $INSTALL_JAVA${JAVA_HOME:+, then correct or unset JAVA_HOME}"
}

if [ -n "$PYTHON" ]; then set -- "$PYTHON"; else set -- python3 python3.14 python3.13 python3.12 python3.11; fi
python=$(find_python "$@") || exit 1
check_java
echo "$python"
