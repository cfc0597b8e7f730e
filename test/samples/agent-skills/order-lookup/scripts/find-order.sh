#!/usr/bin/env bash
# Prints the order of a number from a file of orders: find-order.sh NUMBER ORDERS.json
set -euo pipefail

jq --compact-output --exit-status --arg number "$1" '.[] | select(.number == $number)' "$2"
